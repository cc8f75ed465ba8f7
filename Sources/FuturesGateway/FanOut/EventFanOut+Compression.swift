import FuturesFeed
import Glibc
import MicroHTTP

/// Readers that asked for gzip. One that has had everything joins the compressed set of its streams and is sent blocks that were made once;
/// whatever is for it alone (its beginning, what it missed, what it is told) is compressed for it alone, without a state that lasts.
extension EventFanOut {
    /// The most bytes of one reader's own that are compressed at once.
    static let ownBlock = 64 << 10

    /// Puts bytes before everything from the logs.
    func tell(_ client: UnsafeMutablePointer<EventClient>, _ bytes: [UInt8]) {
        guard client.pointee.checksum != nil, !bytes.isEmpty else { return client.pointee.own.append(EventClient.PrivateBytes(bytes: bytes)) }
        bytes.withUnsafeBufferPointer { tell(client, compressed: $0) }
    }

    /// A reader of a set leaves it for that: the set's blocks refer to each other alone.
    func tell(_ client: UnsafeMutablePointer<EventClient>, compressed bytes: UnsafeBufferPointer<UInt8>) {
        if client.pointee.membership != nil { leaveSet(client.pointee.stream.slot, client) }
        guard let block = ownDeflater.block(bytes) else { return client.pointee.stream.abort() }
        client.pointee.checksum?.append(block.part)
        client.pointee.own.append(EventClient.PrivateBytes(bytes: block.bytes))
    }

    /// A stream has grown: the sets that have it compress what came, at the end of their window, or now where that is much.
    func markSets(_ log: UnsafeMutablePointer<EventLog>, _ index: Int) {
        for place in log.pointee.sets {
            guard let set = sets[place] else { continue }
            if let cursor = set.pointee.reader.subscriptions.first(where: { $0.log == index })?.cursor,
                log.pointee.ring.bytes(from: cursor) > UInt64(Self.ownBlock)
            {
                set.pointee.compressedAt = .min
            }
            guard !set.pointee.isDue else { continue }
            set.pointee.isDue = true
            dueSets.append(place)
        }
    }

    /// Compresses what is due and sends it.
    func compressDue(_ now: Int64) {
        guard !dueSets.isEmpty else { return }
        let due = dueSets
        dueSets.removeAll(keepingCapacity: true)
        for index in due {
            guard let set = sets[index] else { continue }
            let opensAt = set.pointee.compressedAt == .min ? now : set.pointee.compressedAt &+ limits.compressionWindow.nanoseconds
            guard opensAt <= now else {
                dueSets.append(index)
                nextTurn = min(nextTurn ?? .max, opensAt)
                continue
            }
            set.pointee.isDue = false
            let readers = set.pointee.readers
            if !compress(set, now) { dissolve(index) }
            for slot in readers { enqueue(slot) }
            admit(to: index, now)
        }
    }

    /// False where more came in a window than the logs hold.
    private func compress(_ set: UnsafeMutablePointer<CompressionGroup>, _ now: Int64) -> Bool {
        set.pointee.compressedAt = now
        guard set.pointee.reader.subscriptions.allSatisfy({ $0.cursor >= logs[$0.log]?.pointee.ring.firstOrdinal ?? 0 }) else { return false }
        while true {
            batch.gather(&set.pointee.reader, logs, atMost: 1 << 20)
            guard batch.count > 0 else { return true }
            let made = batch.withBytes { bytes in
                defer { set.pointee.remember(bytes) }
                return deflater.block(bytes, after: set.pointee.history)
            }
            guard let block = made else { return false }
            _ = batch.advance(&set.pointee.reader, logs, by: .max)
            set.pointee.append(block.bytes, block.part, events: batch.advanced, now: now)
        }
    }

    /// A set that has nothing to compress takes in those who have had all that it has; before that, what they have had would come again.
    /// They are asked for no oftener than it begins anew.
    private func admit(to index: Int, _ now: Int64) {
        guard let set = sets[index], !set.pointee.waiting.isEmpty, set.pointee.takesReaders(now: now) else { return }
        let waiting = set.pointee.waiting
        set.pointee.waiting.removeAll(keepingCapacity: true)
        for slot in waiting {
            guard let client = clients[slot], client.pointee.awaitedSet == index else { continue }
            client.pointee.awaitedSet = nil
            flush(slot, client, now)
        }
    }

    /// A gzip reader that has had everything reads the set of its streams from now on, or as soon as that has come as far.
    func share(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ now: Int64) {
        guard client.pointee.checksum != nil, client.pointee.membership == nil, client.pointee.awaitedSet == nil,
            client.pointee.options.interval == 0, client.pointee.reader.remaining == nil, !client.pointee.isBlocked, !client.pointee.isEnding,
            client.pointee.own.isEmpty
        else { return }
        for subscription in client.pointee.reader.subscriptions {
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.needsValue, !subscription.isHeld,
                let log = logs[subscription.log], subscription.cursor == log.pointee.ring.endOrdinal
            else { return }
        }
        let key = CompressionGroup.Key(logs: client.pointee.reader.subscriptions.map(\.log).sorted(), format: client.pointee.reader.format)
        guard !key.logs.isEmpty, let index = setIndices[key] ?? addSet(key, now), let set = sets[index] else { return }
        let isLevel = set.pointee.reader.subscriptions.allSatisfy { $0.cursor == logs[$0.log]?.pointee.ring.endOrdinal }
        guard isLevel, set.pointee.takesReaders(now: now) else {
            client.pointee.awaitedSet = index
            set.pointee.waiting.append(slot)
            return
        }
        for place in client.pointee.reader.subscriptions.indices { detach(client, place) }
        client.pointee.membership = EventClient.Membership(set: index, block: set.pointee.blocks.endOrdinal, readerIndex: set.pointee.readers.count)
        set.pointee.readers.append(slot)
    }

    /// Nil where there are as many sets as may be: what is for few is compressed for each.
    private func addSet(_ key: CompressionGroup.Key, _ now: Int64) -> Int? {
        guard setIndices.count < limits.compressedSets else { return nil }
        var reader = ReaderCursors(format: key.format)
        for log in key.logs {
            reader.subscriptions.append(ReaderCursors.Subscription(log: log, cursor: logs[log]?.pointee.ring.endOrdinal ?? 0))
            if let streams = logs[log]?.pointee.streams { reader.streams.insert(streams) }
        }
        let index = sets.firstIndex { $0 == nil } ?? sets.count
        if index == sets.count { sets.append(nil) }
        let set = UnsafeMutablePointer<CompressionGroup>.allocate(capacity: 1)
        set.initialize(to: CompressionGroup(key: key, reader: reader, blocks: makeLog(floor: 0, of: StreamSet(), .events), now: now))
        sets[index] = set
        setIndices[key] = index
        for log in key.logs { logs[log]?.pointee.sets.append(index) }
        return index
    }

    /// Back to the logs, behind the last event that came by the set. False where they do not reach that far back any more.
    @discardableResult
    func leaveSet(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>) -> Bool {
        client.pointee.awaitedSet = nil
        guard let membership = client.pointee.membership, let set = sets[membership.set] else { return true }
        client.pointee.membership = nil
        if let last = set.pointee.readers.popLast(), last != slot {
            set.pointee.readers[membership.readerIndex] = last
            clients[last]?.pointee.membership?.readerIndex = membership.readerIndex
        }
        var isWhole = true
        for place in client.pointee.reader.subscriptions.indices {
            attach(slot, client, place)
            let index = client.pointee.reader.subscriptions[place].log
            if membership.block == set.pointee.blocks.endOrdinal {
                let cursor = set.pointee.reader.subscriptions.first { $0.log == index }?.cursor
                client.pointee.reader.subscriptions[place].cursor = cursor ?? client.pointee.reader.subscriptions[place].cursor
                continue
            }
            guard let sequence = membership.lastSequence, let log = logs[index] else { continue }
            if log.pointee.ring.floor > sequence { isWhole = false }
            let cursor = max(client.pointee.reader.subscriptions[place].cursor, log.pointee.ring.ordinal(after: sequence))
            client.pointee.reader.subscriptions[place].cursor = cursor
        }
        if set.pointee.readers.isEmpty { removeSet(membership.set, set) }
        return isWhole
    }

    /// Back to the logs, or sent off to come back where those do not hold what it lacks.
    func leaveSetOrEnd(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>) {
        guard !leaveSet(slot, client) else { return }
        end(client, code: "slow", reason: "More came than could be sent; come back for what followed.")
    }

    /// All its readers go back to the logs.
    func dissolve(_ index: Int) {
        guard let set = sets[index] else { return }
        for slot in set.pointee.readers {
            if let client = clients[slot] { leaveSetOrEnd(slot, client) }
        }
        if sets[index] == set { removeSet(index, set) }
    }

    /// Those who waited for it find another.
    private func removeSet(_ index: Int, _ set: UnsafeMutablePointer<CompressionGroup>) {
        for log in set.pointee.key.logs { logs[log]?.pointee.sets.removeAll { $0 == index } }
        for slot in set.pointee.waiting where clients[slot]?.pointee.awaitedSet == index { clients[slot]?.pointee.awaitedSet = nil }
        setIndices[set.pointee.key] = nil
        sets[index] = nil
        set.deinitialize(count: 1)
        set.deallocate()
    }

    /// Sends a reader the blocks it lacks. One that fell behind what the set holds goes on from the logs, or is sent off to come back.
    func sendBlocks(_ slot: Int, _ client: UnsafeMutablePointer<EventClient>, _ membership: EventClient.Membership, _ now: Int64) {
        guard let set = sets[membership.set] else { return }
        let (first, end) = (membership.block, set.pointee.blocks.endOrdinal)
        guard first >= set.pointee.blocks.firstOrdinal else {
            leaveSetOrEnd(slot, client)
            flush(slot, client, now)
            return
        }
        guard first < end else { return }
        let count = set.pointee.blocks.vectors(from: set.pointee.blocks[first].start, to: set.pointee.blocks[end - 1].end, into: batch.vectors)
        var left = max(0, client.pointee.stream.write(UnsafeBufferPointer(start: batch.vectors, count: count)))
        if left > 0 { wrote(left, client, now) }
        var next = first
        while next < end {
            let block = set.pointee.blocks[next]
            let length = Int(block.end - block.start)
            if left < length {
                client.pointee.isBlocked = true
                guard left > 0 else { break }
                client.pointee.own.append(EventClient.PrivateBytes(bytes: set.pointee.blocks.copy(from: block.start + UInt64(left), to: block.end)))
            }
            let held = set.pointee.held(next)
            client.pointee.checksum?.append(held.part)
            tally.deliveries &+= held.events
            client.pointee.membership?.lastSequence = block.sequence
            client.pointee.reader.lastSequence = max(client.pointee.reader.lastSequence, block.sequence)
            next += 1
            guard left >= length else { break }
            left -= length
        }
        client.pointee.membership?.block = next
    }
}
