import FuturesFeed
import Glibc
import MicroHTTP

/// Readers that asked for gzip. One that has had everything joins the compression group of its streams and is sent blocks that were made once;
/// whatever is for it alone (its beginning, what it missed, what it is told) is compressed for it alone, without a state that lasts.
extension EventFanOut {
    /// The most bytes of one reader's own that are compressed at once.
    static let ownBlock = 64 << 10

    /// Puts bytes before everything from the logs.
    func tell(_ client: inout EventClient, _ bytes: [UInt8]) {
        guard client.checksum != nil, !bytes.isEmpty else { return client.own.append(EventClient.PrivateBytes(bytes: bytes)) }
        bytes.withUnsafeBufferPointer { tell(&client, compressed: $0) }
    }

    /// A reader of a group leaves it for that: the group's blocks refer to each other alone.
    func tell(_ client: inout EventClient, compressed bytes: UnsafeBufferPointer<UInt8>) {
        if client.membership != nil { leaveGroup(&client) }
        guard let block = ownDeflater.block(bytes) else { return client.stream.abort() }
        client.checksum?.append(block.part)
        client.own.append(EventClient.PrivateBytes(bytes: block.bytes))
    }

    /// A stream has grown: the groups that have it compress what came, at the end of their window, or now where that is much.
    func markGroups(_ log: Int) {
        for group in logs[log].groups where groups.contains(group) {
            if let cursor = groups[group].reader.subscriptions.first(where: { $0.log == log })?.cursor,
                logs[log].ring.bytes(from: cursor) > UInt64(Self.ownBlock)
            {
                groups[group].compressedAt = .min
            }
            guard !groups[group].isDue else { continue }
            groups[group].isDue = true
            dueGroups.append(group)
        }
    }

    /// Compresses what is due and sends it.
    func compressDue(_ now: Int64) {
        guard !dueGroups.isEmpty else { return }
        let due = dueGroups
        dueGroups.removeAll(keepingCapacity: true)
        for group in due where groups.contains(group) {
            let opensAt = groups[group].compressedAt == .min ? now : groups[group].compressedAt &+ limits.compressionWindow.nanoseconds
            guard opensAt <= now else {
                dueGroups.append(group)
                nextTurn = min(nextTurn ?? .max, opensAt)
                continue
            }
            groups[group].isDue = false
            let readers = groups[group].readers
            if !groups[group].compress(logs, batch, deflater, now) { dissolve(group) }
            for slot in readers { enqueue(slot) }
            admit(to: group, now)
        }
    }

    /// A group that has nothing to compress takes in those who have had all that it has; before that, what they have had would come again.
    /// They are asked for no oftener than it begins anew.
    private func admit(to group: Int, _ now: Int64) {
        guard groups.contains(group), !groups[group].waiting.isEmpty, groups[group].takesReaders(now: now) else { return }
        let waiting = groups[group].waiting
        groups[group].waiting.removeAll(keepingCapacity: true)
        for slot in waiting where clients.contains(slot) && clients[slot].awaitedGroup == group {
            clients[slot].awaitedGroup = nil
            settle(slot, flush(&clients[slot], now))
        }
    }

    /// A gzip reader that has had everything reads the group of its streams from now on, or as soon as that has come as far.
    func joinGroup(_ client: inout EventClient, _ now: Int64) {
        guard client.checksum != nil, client.membership == nil, client.awaitedGroup == nil, client.options.interval == 0,
            client.reader.remaining == nil, !client.isBlocked, !client.isEnding, client.own.isEmpty
        else { return }
        for subscription in client.reader.subscriptions {
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.needsValue, !subscription.isHeld,
                logs.contains(subscription.log), subscription.cursor == logs[subscription.log].ring.endOrdinal
            else { return }
        }
        let key = CompressionGroup.Key(logs: client.reader.subscriptions.map(\.log).sorted(), format: client.options.format)
        guard !key.logs.isEmpty, let group = groupIndices[key] ?? addGroup(key, now) else { return }
        guard groups[group].isLevel(with: logs), groups[group].takesReaders(now: now) else {
            client.awaitedGroup = group
            groups[group].waiting.append(client.stream.slot)
            return
        }
        for place in client.reader.subscriptions.indices { detach(&client, place) }
        client.membership = EventClient.Membership(
            group: group, block: groups[group].blocks.endOrdinal, readerIndex: groups[group].readers.count)
        groups[group].readers.append(client.stream.slot)
    }

    /// Nil where there are as many groups as may be: what is for few is compressed for each.
    private func addGroup(_ key: CompressionGroup.Key, _ now: Int64) -> Int? {
        guard groupIndices.count < limits.compressedSets else { return nil }
        let group = groups.vacancy
        groups.insert(CompressionGroup(key: key, logs, blocks: makeLog(floor: 0, of: StreamSet(), .events), now: now), at: group)
        groupIndices[key] = group
        for log in key.logs where logs.contains(log) { logs[log].groups.append(group) }
        return group
    }

    /// Back to the logs, behind the last event that came by the group. False where they do not reach that far back any more.
    @discardableResult
    func leaveGroup(_ client: inout EventClient) -> Bool {
        client.awaitedGroup = nil
        guard let membership = client.membership else { return true }
        client.membership = nil
        if let last = groups[membership.group].readers.popLast(), last != client.stream.slot {
            groups[membership.group].readers[membership.readerIndex] = last
            clients[last].membership?.readerIndex = membership.readerIndex
        }
        var isWhole = true
        for place in client.reader.subscriptions.indices {
            attach(&client, place)
            let (log, before) = (client.reader.subscriptions[place].log, client.reader.subscriptions[place].cursor)
            if membership.block == groups[membership.group].blocks.endOrdinal {
                client.reader.subscriptions[place].cursor = groups[membership.group].cursor(of: log) ?? before
            } else if let sequence = membership.lastSequence, logs.contains(log) {
                if logs[log].ring.floor > sequence { isWhole = false }
                client.reader.subscriptions[place].cursor = max(before, logs[log].ring.ordinal(after: sequence))
            }
        }
        if groups[membership.group].readers.isEmpty { removeGroup(membership.group, lastReader: client.stream.slot) }
        return isWhole
    }

    /// Back to the logs, or sent off to come back where those do not hold what it lacks.
    func leaveGroupOrEnd(_ client: inout EventClient) {
        guard !leaveGroup(&client) else { return }
        end(&client, code: "slow", reason: "More came than could be sent; come back for what followed.")
    }

    /// All its readers go back to the logs. The group goes with the last of them.
    func dissolve(_ group: Int) {
        for slot in groups[group].readers { leaveGroupOrEnd(&clients[slot]) }
    }

    /// Those who waited for it find another.
    private func removeGroup(_ group: Int, lastReader: Int) {
        for log in groups[group].key.logs where logs.contains(log) { logs[log].groups.removeAll { $0 == group } }
        for slot in groups[group].waiting where slot != lastReader && clients.contains(slot) && clients[slot].awaitedGroup == group {
            clients[slot].awaitedGroup = nil
        }
        groupIndices[groups[group].key] = nil
        groups.remove(group)
    }

    /// Sends a reader the blocks it lacks. One that fell behind what the group holds goes on from the logs, or is sent off to come back.
    func sendBlocks(_ client: inout EventClient, _ membership: EventClient.Membership, _ now: Int64) -> EventClient.Connection {
        guard membership.block >= groups[membership.group].blocks.firstOrdinal else {
            leaveGroupOrEnd(&client)
            return flush(&client, now)
        }
        send(groups[membership.group], to: &client, from: membership.block, now)
        return .open
    }

    private func send(_ group: borrowing CompressionGroup, to client: inout EventClient, from first: UInt64, _ now: Int64) {
        let end = group.blocks.endOrdinal
        guard first < end else { return }
        let count = group.blocks.vectors(from: group.blocks[first].start, to: group.blocks[end - 1].end, into: batch.vectors)
        var left = max(0, client.stream.write(UnsafeBufferPointer(start: batch.vectors, count: count)))
        if left > 0 { wrote(left, &client, now) }
        var next = first
        while next < end {
            let block = group.blocks[next]
            let length = Int(block.end - block.start)
            if left < length {
                client.isBlocked = true
                guard left > 0 else { break }
                client.own.append(EventClient.PrivateBytes(bytes: group.blocks.copy(from: block.start + UInt64(left), to: block.end)))
            }
            let held = group.held(next)
            client.checksum?.append(held.part)
            tally.deliveries &+= held.events
            client.membership?.lastSequence = block.sequence
            client.reader.lastSequence = max(client.reader.lastSequence, block.sequence)
            next += 1
            guard left >= length else { break }
            left -= length
        }
        client.membership?.block = next
    }
}
