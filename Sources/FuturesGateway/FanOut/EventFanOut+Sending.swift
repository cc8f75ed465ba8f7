import EventLogs
import FuturesFeed
import Glibc
import MicroHTTP

/// What a reader lacks, on its way to its socket.
extension EventFanOut {
    /// The log has grown: its readers, if there are any, get their turn.
    func markDirty(_ log: Int) {
        guard !logs[log].isDirty, !(logs[log].readers.isEmpty && logs[log].groups.isEmpty) else { return }
        logs[log].isDirty = true
        dirtyLogs.append(log)
    }

    /// Every reader of every log that grew gets its turn, behind those who wait for theirs.
    func enqueueReaders() {
        let queued = tally.queued
        defer {
            tally.beginRound(receivedAt: oldestReceipt, before: queued)
            oldestReceipt = .max
        }
        for log in dirtyLogs where logs.contains(log) {
            logs[log].isDirty = false
            compression.logGrew(log, logs[log])
            for slot in logs[log].readers { enqueue(slot) }
        }
        dirtyLogs.removeAll(keepingCapacity: true)
    }

    func enqueue(_ slot: Int) {
        guard clients.contains(slot), !clients[slot].isDirty else { return }
        clients[slot].isDirty = true
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
            if clients.contains(slot) {
                clients[slot].isDirty = false
                settle(slot, flush(&clients[slot], now))
            }
            if tally.takeTurn() { tally.passMark(Self.now) }
        }
        guard nextDirty == dirtyClients.count || nextDirty >= 16 * Self.turnsAtOnce else { return }
        dirtyClients.removeSubrange(..<nextDirty)
        nextDirty = 0
    }

    private static let turnsAtOnce = 512

    /// Sends a reader all it lacks, until its socket is full.
    func flush(_ client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        guard !client.isBlocked, sendOwn(&client, now) else { return .open }
        if client.isEnding {
            client.stream.finish()
            return .ended
        }
        if let membership = client.membership { return sendBlocks(&client, membership, now) }
        if client.options.interval > 0 { pace(&client, now) }
        repeat {
            catchFallen(&client)
            if !client.own.isEmpty, !sendOwn(&client, now) { return .open }
            batch.gather(&client.reader, logs, atMost: client.checksum == nil ? .max : Compression.ownBlock)
        } while batch.count > 0 && sendBatch(&client, now)
        joinGroup(&client, now)
        guard client.reader.remaining == 0, !client.isBlocked, !client.isEnding else { return .open }
        end(&client, code: "count", reason: "These were the events asked for.")
        return flush(&client, now)
    }

    /// Whether all of it went out.
    func sendOwn(_ client: inout EventClient, _ now: Int64) -> Bool {
        while !client.own.isEmpty {
            let (stream, sent) = (client.stream, client.own[0].sent)
            let (count, total) = client.own[0].bytes.withUnsafeBytes { bytes -> (Int, Int) in
                var vector = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { $0 + sent }), iov_len: bytes.count - sent)
                let count = withUnsafePointer(to: &vector) { stream.write(UnsafeBufferPointer(start: $0, count: 1)) }
                return (count, bytes.count - sent)
            }
            if count > 0 { wrote(count, &client, now) }
            if count < total {
                client.own[0].sent += max(0, count)
                client.isBlocked = true
                return false
            }
            client.own.removeFirst()
        }
        return true
    }

    func wrote(_ count: Int, _ client: inout EventClient, _ now: Int64) {
        client.lastWrite = now
        tally.sent(count, isCompressed: client.checksum != nil)
    }

    /// Whether all of it went out. Where the socket filled in the middle of an event, its rest becomes the reader's own.
    private func sendBatch(_ client: inout EventClient, _ now: Int64) -> Bool {
        if client.checksum != nil {
            batch.withBytes { tell(&client, compressed: $0) }
            _ = batch.advance(&client.reader, logs, by: .max)
            tally.deliveries &+= batch.advanced
            return sendOwn(&client, now)
        }
        let count = client.stream.write(UnsafeBufferPointer(start: batch.vectors, count: batch.count))
        if count > 0 { wrote(count, &client, now) }
        let rest = batch.advance(&client.reader, logs, by: max(0, count))
        tally.deliveries &+= batch.advanced
        if let rest, !rest.isEmpty { client.own.append(EventClient.PrivateBytes(bytes: rest)) }
        client.isBlocked = rest != nil
        return rest == nil
    }

    /// The connection ends once its own bytes are sent.
    func end(_ client: inout EventClient, code: String, reason: String) {
        guard !client.isEnding else { return }
        tally.farewells[code, default: 0] &+= 1
        tell(&client, EventEncoder.bye(code: code, reason: reason, retryMs: EventHub.retryMs, client.options.format))
        if let checksum = client.checksum { client.own.append(EventClient.PrivateBytes(bytes: checksum.end)) }
        client.isEnding = true
    }

    /// A reader that takes nothing is told so where it can still be told, and cut off ten seconds later, or when that is due.
    func sendOff(_ client: inout EventClient, _ silence: Int64, _ now: Int64) -> EventClient.Connection {
        if !client.isEnding {
            sendOff(&client, reason: "Nothing could be sent for \(limits.stoppedReader).")
        } else if silence > limits.stoppedReader.nanoseconds &+ 10_000_000_000 || now >= client.cutAt {
            client.stream.abort()
            tally.cut &+= 1
            return .ended
        }
        return .open
    }

    func sendOff(_ client: inout EventClient, reason: String) {
        leaveAll(&client)
        end(&client, code: "slow", reason: reason)
    }
}
