import FuturesFeed
import Glibc
import MicroHTTP
import Rings
import Zlib

/// Gzip readers. Each reads either the rings, with its own compression, or a group of ``Compression``.
extension EventFanOut {
    /// Queues bytes that this reader gets before anything from the rings. Drops them if the farewell is already queued.
    func enqueuePrivate(_ client: inout EventClient, _ bytes: [UInt8]) {
        guard !client.isEnding else { return }
        guard client.gzip != nil, !bytes.isEmpty else { return client.privateBytes.append(EventClient.PrivateBytes(bytes: bytes)) }
        bytes.withUnsafeBufferPointer { enqueuePrivate(&client, compressed: $0) }
    }

    /// Queues bytes as a separate block. A reader of a group leaves the group first: its blocks refer to each other, so no other block may come
    /// between them.
    func enqueuePrivate(_ client: inout EventClient, compressed bytes: UnsafeBufferPointer<UInt8>) {
        if client.gzip?.membership != nil { leaveGroup(&client) }
        guard let block = compression.block(bytes) else { return client.stream.fail() }
        client.gzip?.checksum.append(block.part)
        client.privateBytes.append(EventClient.PrivateBytes(bytes: block.bytes))
    }

    /// Compresses for the groups whose windows have ended, and queues their readers. Then lets waiting readers join, if a group admits readers.
    func compressDue(_ now: Int64) {
        for group in compression.takeDue(now) where compression.groups.contains(group) {
            let readers = compression.groups[group].readers
            if !compression.compress(group, rings, now) { dissolve(group) }
            for slot in readers { enqueue(slot) }
            for slot in compression.takeWaiting(group, now) where clients.contains(slot) && clients[slot].gzip?.awaitedGroup == group {
                clients[slot].gzip?.awaitedGroup = nil
                settle(slot, flush(&clients[slot], now))
            }
        }
        if let next = compression.nextDue { nextTurnAt = min(nextTurnAt ?? .max, next) }
    }

    /// Adds a gzip reader that has received everything to the group of its streams, or to the group's waiting list. Does nothing for other readers.
    func joinGroup(_ client: inout EventClient, _ now: Int64) {
        guard let gzip = client.gzip, gzip.membership == nil, gzip.awaitedGroup == nil, client.options.interval == 0,
            client.reader.remaining == nil, !client.isBlocked, !client.isEnding, client.privateBytes.isEmpty
        else { return }
        for subscription in client.reader.subscriptions {
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.needsValue, !subscription.isHeld,
                rings.contains(subscription.ring), subscription.cursor == rings[subscription.ring].view.endOrdinal
            else { return }
        }
        switch compression.enter(client.stream.slot, client.reader, rings, now, blocks: { makeBlocks() }) {
        case .joined(let membership):
            for place in client.reader.subscriptions.indices { detach(&client, place) }
            gzip.membership = membership
        case .waits(let group): gzip.awaitedGroup = group
        case .alone: break
        }
    }

    /// Moves a reader from its group back to the rings, after the last event that the group sent it. False if a ring no longer holds the following
    /// events. Does nothing for a reader without a group.
    @discardableResult
    func leaveGroup(_ client: inout EventClient) -> Bool {
        client.gzip?.awaitedGroup = nil
        guard let membership = client.gzip?.membership else { return true }
        client.gzip?.membership = nil
        var isWhole = true
        for place in client.reader.subscriptions.indices {
            attach(&client, place)
            let (ring, before) = (client.reader.subscriptions[place].ring, client.reader.subscriptions[place].cursor)
            if membership.block == compression.groups[membership.group].blocks.view.endOrdinal {
                client.reader.subscriptions[place].cursor = compression.groups[membership.group].cursor(of: ring) ?? before
            } else if let sent = membership.sent, rings.contains(ring) {
                if rings[ring].view.floor > sent.sequence { isWhole = false }
                client.reader.subscriptions[place].cursor = max(before, sent.cursor(in: ring, rings[ring].view))
            }
        }
        let own = client.stream.slot
        for slot in compression.leave(own, membership.group, rings) where slot != own && clients.contains(slot) {
            if clients[slot].gzip?.awaitedGroup == membership.group { clients[slot].gzip?.awaitedGroup = nil }
        }
        return isWhole
    }

    /// Moves a reader from its group back to the rings. If a ring no longer holds the reader's missing events, ends the connection instead, so that
    /// the reader resumes with a new one.
    func leaveGroupOrEnd(_ client: inout EventClient) {
        guard !leaveGroup(&client) else { return }
        end(&client, code: "slow", reason: "The connection was too slow for its streams; reconnect to continue.")
    }

    /// Moves all readers of a group back to the rings. This removes the group.
    func dissolve(_ group: Int) {
        for slot in compression.groups[group].readers { leaveGroupOrEnd(&clients[slot]) }
    }

    /// Sends a reader of a group its missing blocks. If the first of them has left the group's ring, the reader leaves the group or is ended.
    func sendBlocks(_ client: inout EventClient, _ membership: EventClient.Membership, _ now: Int64) -> EventClient.Connection {
        guard membership.block >= compression.groups[membership.group].blocks.view.firstOrdinal else {
            leaveGroupOrEnd(&client)
            return flush(&client, now)
        }
        send(compression.groups[membership.group], to: &client, from: membership.block, now)
        return .open
    }

    private func send(_ group: borrowing CompressionGroup, to client: inout EventClient, from first: UInt64, _ now: Int64) {
        let end = group.blocks.view.endOrdinal
        guard first < end else { return }
        let count = group.blocks.view.vectors(from: group.blocks.view[first].start, to: group.blocks.view[end - 1].end, into: batch.vectors)
        var left = max(0, client.stream.write(UnsafeBufferPointer(start: batch.vectors, count: count)))
        if left > 0 { wrote(left, &client, now) }
        var next = first
        while next < end {
            let block = group.blocks.view[next]
            let length = Int(block.end - block.start)
            if left < length {
                client.isBlocked = true
                guard left > 0 else { break }
                client.privateBytes.append(EventClient.PrivateBytes(bytes: group.blocks.view.copy(from: block.start + UInt64(left), to: block.end)))
            }
            let held = group.held(next)
            client.gzip?.checksum.append(held.part)
            tally.deliveries &+= held.events
            client.reader.lastSequence = max(client.reader.lastSequence, block.sequence)
            next += 1
            guard left >= length else { break }
            left -= length
        }
        client.gzip?.membership?.block = next
        if next > first { client.gzip?.membership?.sent = group.end(of: next - 1) }
    }
}
