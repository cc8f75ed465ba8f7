import FuturesFeed
import Glibc
import MicroHTTP
import Rings
import Zlib

/// Sends readers the events they have not received.
extension EventFanOut {
    /// Notes that a ring has grown, if a reader or a compression group reads it.
    func noteGrowth(_ ring: Int, _ receivedAt: Int64) {
        if !rings[ring].readers.isEmpty { oldestReceipt = min(oldestReceipt, receivedAt) }
        guard !rings[ring].isDirty, !(rings[ring].readers.isEmpty && rings[ring].groups.isEmpty) else { return }
        rings[ring].isDirty = true
        grownRings.append(ring)
    }

    /// Queues the readers of all rings that have grown, after the readers that are already queued.
    func enqueueReaders() {
        let queued = tally.queued
        defer {
            tally.beginRound(receivedAt: oldestReceipt, before: queued)
            oldestReceipt = .max
        }
        for ring in grownRings where rings.contains(ring) {
            rings[ring].isDirty = false
            compression.ringGrew(ring, rings[ring])
            for slot in rings[ring].readers { enqueue(Int(slot)) }
        }
        grownRings.removeAll(keepingCapacity: true)
    }

    /// Queues one reader, if it is not queued already.
    func enqueue(_ slot: Int) {
        guard clients.contains(slot), !clients[slot].isQueued else { return }
        clients[slot].isQueued = true
        queuedClients.append(Int32(clamping: slot))
        tally.queueTurn()
    }

    /// Serves at most 512 queued readers, so that new events do not have to wait until all are served. A served reader is queued again for new
    /// events; the others get them in their turn.
    func sweep(_ now: Int64) {
        let end = min(queuedClients.count, nextQueued + Self.turnsPerSweep)
        while nextQueued < end {
            let slot = Int(queuedClients[nextQueued])
            nextQueued += 1
            if clients.contains(slot) {
                clients[slot].isQueued = false
                settle(slot, flush(&clients[slot], now))
            }
            if tally.takeTurn() { tally.passMark(Self.now) }
        }
        guard nextQueued == queuedClients.count || nextQueued >= 16 * Self.turnsPerSweep else { return }
        queuedClients.removeSubrange(..<nextQueued)
        nextQueued = 0
    }

    /// Sends a reader its missing data until its socket is full: first its private bytes, then its group's blocks or the events in the rings.
    func flush(_ client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        guard !client.isBlocked, sendPrivate(&client, now) else { return .open }
        if client.isEnding {
            client.stream.finish()
            return .ended
        }
        if client.isReplaying {
            if !client.awaitsPiece { (client.options.notifications == nil ? callbacks.hungry : callbacks.notified)(client.number) }
            client.awaitsPiece = true
            return .open
        }
        if let membership = client.gzip?.membership { return sendBlocks(&client, membership, now) }
        if client.owesValue {
            if !client.reader.awaitsValue { catchFallen(&client) }
            client.owesValue = client.reader.awaitsValue && client.reader.remaining != 0 && !client.isEnding
            guard sendPrivate(&client, now), !client.owesValue else { return .open }
        }
        if client.options.interval > 0, client.reader.lastSequence >= client.backlogEnd { pace(&client, now) }
        repeat {
            catchFallen(&client)
            if !client.privateBytes.isEmpty, !sendPrivate(&client, now) { return .open }
            if client.isEnding { return flush(&client, now) }
            batch.gather(
                &client.reader, rings, atMost: client.gzip == nil ? .max : Compression.blockBytes, client.reader.tellsTimings ? .now : nil)
        } while batch.count > 0 && sendBatch(&client, now)
        joinGroup(&client, now)
        guard client.reader.remaining == 0, !client.isBlocked, !client.isEnding else { return .open }
        end(&client, code: "count", reason: "Reached the requested `count`.")
        return flush(&client, now)
    }

    /// Sends the private bytes. True if the kernel accepted all of them.
    func sendPrivate(_ client: inout EventClient, _ now: Int64) -> Bool {
        while !client.privateBytes.isEmpty {
            let (stream, sent) = (client.stream, client.privateBytes[0].sent)
            let (count, total) = client.privateBytes[0].bytes.withUnsafeBytes { bytes -> (Int, Int) in
                var vector = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + sent }), iov_len: bytes.count - sent)
                let count = withUnsafePointer(to: &vector) { stream.write(UnsafeBufferPointer(start: $0, count: 1)) }
                return (count, bytes.count - sent)
            }
            if count > 0 { wrote(count, &client, now) }
            if count < total {
                client.privateBytes[0].sent += max(0, count)
                client.isBlocked = true
                return false
            }
            // Removing the last element would keep the array's memory.
            if client.privateBytes.count > 1 { client.privateBytes.removeFirst() } else { client.privateBytes = [] }
        }
        return true
    }

    /// Records bytes that the kernel accepted.
    func wrote(_ count: Int, _ client: inout EventClient, _ now: Int64) {
        client.lastWrite = now
        tally.sent(count, isCompressed: client.gzip != nil)
    }

    /// Sends the gathered events. True if the kernel accepted all of them. If it accepted only a part of an event, the rest becomes private bytes.
    private func sendBatch(_ client: inout EventClient, _ now: Int64) -> Bool {
        if client.gzip != nil {
            batch.withBytes { enqueuePrivate(&client, compressed: $0) }
            _ = batch.advance(&client.reader, rings, by: .max)
            tally.deliveries &+= batch.advanced
            return sendPrivate(&client, now)
        }
        let count = client.stream.write(UnsafeBufferPointer(start: batch.vectors, count: batch.count))
        if count > 0 { wrote(count, &client, now) }
        let rest = batch.advance(&client.reader, rings, by: max(0, count))
        tally.deliveries &+= batch.advanced
        if let rest, !rest.isEmpty { client.privateBytes.append(EventClient.PrivateBytes(bytes: rest)) }
        client.isBlocked = rest != nil
        return rest == nil
    }

    /// Queues the event `bye`. The connection ends after the private bytes are sent.
    func end(_ client: inout EventClient, code: String, reason: String) {
        guard !client.isEnding else { return }
        if client.socket == nil { tally.farewells[code, default: 0] &+= 1 } else { tally.socketCloses[code, default: 0] &+= 1 }
        let bye =
            client.socket?.farewell(code, reason) ?? client.options.notifications?.end(code: code, reason: reason)
            ?? EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs, client.options.format)
        enqueuePrivate(&client, bye)
        if let gzip = client.gzip { client.privateBytes.append(EventClient.PrivateBytes(bytes: gzip.checksum.end)) }
        client.isEnding = true
        client.endsAt = .max
    }

    /// Ends a reader whose socket has been full for too long. A farewell is queued first, which may still reach it. Ten seconds later, or at
    /// `endsAt`, the connection is reset.
    func sendOff(_ client: inout EventClient, _ silence: Int64, _ now: Int64) -> EventClient.Connection {
        if !client.isEnding {
            sendOff(&client, reason: "The reader accepted no data for \(limits.stoppedReader).")
        } else if silence > limits.stoppedReader.nanoseconds &+ 10_000_000_000 || now >= client.endsAt {
            client.stream.abort()
            tally.cut &+= 1
            return .ended
        }
        return .open
    }

    /// Removes a slow reader from its streams and queues the farewell.
    func sendOff(_ client: inout EventClient, reason: String) {
        leaveAll(&client)
        end(&client, code: "slow", reason: reason)
    }
}

extension SendTime {
    fileprivate static var now: SendTime { SendTime(wallClock: WallClock.nanoseconds / 1000, monotonic: EventFanOut.now) }
}
