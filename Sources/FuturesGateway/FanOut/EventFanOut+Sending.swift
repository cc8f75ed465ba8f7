import FuturesFeed
import Glibc
import MicroHTTP

/// What a reader lacks, on its way to its socket.
extension EventFanOut {
    /// Every reader of every log that grew gets its turn, behind those who wait for theirs.
    func enqueueReaders() {
        let queued = tally.queued
        defer {
            tally.beginRound(receivedAt: oldestReceipt, before: queued)
            oldestReceipt = .max
        }
        for index in dirtyLogs {
            guard let log = logs[index] else { continue }
            log.pointee.isDirty = false
            if !log.pointee.sets.isEmpty { markSets(log, index) }
            for slot in log.pointee.readers { enqueue(slot) }
        }
        dirtyLogs.removeAll(keepingCapacity: true)
    }

    func enqueue(_ slot: Int) {
        guard let client = clients[slot], !client.pointee.isDirty else { return }
        client.pointee.isDirty = true
        dirtyClients.append(slot)
        tally.queueTurn()
    }

    /// Those whose turn it is are sent what they lack, so many that what comes meanwhile is not kept waiting for the rest: those who had
    /// their turn queue again for it, and the others get it with theirs.
    func sweep(_ now: Int64) {
        let end = min(dirtyClients.count, nextDirty + Self.turnsAtOnce)
        while nextDirty < end {
            let slot = dirtyClients[nextDirty]
            nextDirty += 1
            if let client = clients[slot] {
                client.pointee.isDirty = false
                flush(slot, client, now)
            }
            if tally.takeTurn() { tally.passMark(Self.now) }
        }
        guard nextDirty == dirtyClients.count || nextDirty >= 16 * Self.turnsAtOnce else { return }
        dirtyClients.removeSubrange(..<nextDirty)
        nextDirty = 0
    }

    private static let turnsAtOnce = 512

    /// Sends a reader all it lacks, until its socket is full.
    func flush(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ now: Int64) {
        guard !client.pointee.isBlocked, sendOwn(client, now) else { return }
        if client.pointee.isEnding {
            client.pointee.stream.finish()
            forget(slot, client)
            return
        }
        if let membership = client.pointee.membership { return sendBlocks(slot, client, membership, now) }
        if client.pointee.options.interval > 0 { pace(slot, client, now) }
        repeat {
            catchFallen(client)
            if !client.pointee.own.isEmpty, !sendOwn(client, now) { return }
            batch.gather(&client.pointee.reader, logs, atMost: client.pointee.checksum == nil ? .max : Self.ownBlock)
        } while batch.count > 0 && sendBatch(client, now)
        share(slot, client, now)
        guard client.pointee.reader.remaining == 0, !client.pointee.isBlocked, !client.pointee.isEnding else { return }
        end(client, code: "count", reason: "These were the events asked for.")
        flush(slot, client, now)
    }

    /// Whether all of it went out.
    func sendOwn(_ client: UnsafeMutablePointer<EventClient>, _ now: Int64) -> Bool {
        while !client.pointee.own.isEmpty {
            let sent = client.pointee.own[0].sent
            let (count, total) = client.pointee.own[0].bytes.withUnsafeBytes { bytes -> (Int, Int) in
                var vector = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + sent }), iov_len: bytes.count - sent)
                let count = withUnsafePointer(to: &vector) { client.pointee.stream.write(UnsafeBufferPointer(start: $0, count: 1)) }
                return (count, bytes.count - sent)
            }
            if count > 0 { wrote(count, client, now) }
            if count < total {
                client.pointee.own[0].sent += max(0, count)
                client.pointee.isBlocked = true
                return false
            }
            client.pointee.own.removeFirst()
        }
        return true
    }

    func wrote(_ count: Int, _ client: UnsafeMutablePointer<EventClient>, _ now: Int64) {
        client.pointee.lastWrite = now
        tally.sent(count, isCompressed: client.pointee.checksum != nil)
    }

    /// Whether all of it went out. Where the socket filled in the middle of an event, its rest becomes the reader's own.
    private func sendBatch(_ client: UnsafeMutablePointer<EventClient>, _ now: Int64) -> Bool {
        if client.pointee.checksum != nil {
            batch.withBytes { tell(client, compressed: $0) }
            _ = batch.advance(&client.pointee.reader, logs, by: .max)
            tally.deliveries &+= batch.advanced
            return sendOwn(client, now)
        }
        let count = client.pointee.stream.write(UnsafeBufferPointer(start: batch.vectors, count: batch.count))
        if count > 0 { wrote(count, client, now) }
        let rest = batch.advance(&client.pointee.reader, logs, by: max(0, count))
        tally.deliveries &+= batch.advanced
        if let rest, !rest.isEmpty { client.pointee.own.append(EventClient.PrivateBytes(bytes: rest)) }
        client.pointee.isBlocked = rest != nil
        return rest == nil
    }

    /// The connection ends once its own bytes are sent.
    func end(_ client: UnsafeMutablePointer<EventClient>, code: String, reason: String) {
        guard !client.pointee.isEnding else { return }
        tally.farewells[code, default: 0] &+= 1
        let format = client.pointee.reader.format
        tell(client, EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs, format))
        if let checksum = client.pointee.checksum { client.pointee.own.append(EventClient.PrivateBytes(bytes: checksum.end)) }
        client.pointee.isEnding = true
    }

    /// A reader that takes nothing is told so where it can still be told, and cut off ten seconds later, or when that is due.
    func sendOff(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ silence: Int64, _ now: Int64) {
        if !client.pointee.isEnding {
            sendOff(slot, client, reason: "Nothing could be sent for \(limits.stoppedReader).")
        } else if silence > limits.stoppedReader.nanoseconds &+ 10_000_000_000 || now >= client.pointee.cutAt {
            client.pointee.stream.abort()
            tally.cut &+= 1
            forget(slot, client)
        }
    }

    func sendOff(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, reason: String) {
        leaveSet(slot, client)
        for index in client.pointee.reader.subscriptions.map(\.log) { leave(slot, client, index) }
        end(client, code: "slow", reason: reason)
    }
}
