#if canImport(Darwin)
    package import Darwin
#elseif canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#endif

/// Lists the data that one call sends to one reader: its missing events from the rings, in the order of their sequence. An event consists of its
/// bytes in the ring and the end of its id, which is specific to the reader. A reader of a single stream gets its events exactly as they are in the
/// ring, in as few vectors as possible.
///
/// One list serves all readers in turn, so that neither readers nor events allocate memory.
package final class GatherList {
    /// The maximum number of vectors in one call (`IOV_MAX` is 1,024).
    package static let capacity = 512

    /// One event, or several consecutive events of a ring.
    private struct Part {
        /// The index of the reader's subscription.
        let subscription: Int
        let first: UInt64
        /// One past the last event.
        let next: UInt64
        /// Where it ends in the ring.
        let end: UInt64
        /// The bytes after that: the rest of its id, or the end of an event without one.
        let tail: UnsafeRawBufferPointer
        /// The timings to insert, and their place in the ring; empty if the reader requested none.
        var timings = UnsafeRawBufferPointer(start: nil, count: 0)
        var timingsAt: UInt64 = 0
        let bytes: Int
    }

    /// A stream's next event.
    private struct Next {
        var sequence: UInt64
        /// The indices of the reader's subscription and of the ring.
        let place: Int
        let ring: Int
        var cursor: UInt64
        let end: UInt64
    }

    /// The maximum number of a reader's streams that one call examines.
    private static let mostStreams = 1024

    package let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: capacity)
    /// The number of vectors.
    package var count: Int { vectorCount }
    // Private, because Swift checks each access at run time to a stored property of a class that another module can see.
    private var vectorCount = 0
    private let parts = UnsafeMutablePointer<Part>.allocate(capacity: capacity)
    private var partCount = 0
    /// The streams with events to gather, the one with the lowest sequence first.
    private let heap = UnsafeMutablePointer<Next>.allocate(capacity: mostStreams)
    private var heapCount = 0
    /// The first event that the reader lacks and does not get now, because it has paused the stream, waits for a snapshot, or its turn comes later.
    /// Events from there on are sent without id, because an id says that the reader has everything up to it.
    private var idFloor = UInt64.max
    /// How many events the last `advance` passed.
    package var advanced: UInt64 { passed }
    private var passed: UInt64 = 0
    /// The end of an event without an id, in each format.
    private let bareEnds = EventFormat.allCases.map { format in
        let bytes = format.end(nil)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyBytes(from: bytes)
        return copy
    }
    /// The end of the reader's ids; empty while the rings' own ends suffice.
    private let idEnd = UnsafeMutablePointer<UInt8>.allocate(capacity: EventFormat.idEndRoom)
    private var idEndCount = 0
    /// The timings of the gathered events, for a reader that asked for them.
    private let timings = TimingsText(capacity: capacity / leastVectors)
    /// The fewest vectors of an event with timings.
    private static let leastVectors = 4
    /// The maximum number of vectors of one event: two pieces of which one wraps, the timings between them, the tail.
    private static let mostVectors = 5
    /// How many more events with data the reader wants.
    private var remaining = Int.max
    /// How many more bytes to gather; at least one event.
    private var room = Int.max

    package init() {}

    /// Passes the gathered bytes in one piece, valid during the call.
    package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var total = 0
        for index in 0..<vectorCount { total += vectors[index].iov_len }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: total) { bytes in
            var next = 0
            for index in 0..<vectorCount {
                if let start = bytes.baseAddress, let source = vectors[index].iov_base {
                    UnsafeMutableRawPointer(start + next).copyMemory(from: source, byteCount: vectors[index].iov_len)
                }
                next += vectors[index].iov_len
            }
            return body(UnsafeBufferPointer(bytes))
        }
    }

    deinit {
        vectors.deallocate()
        parts.deallocate()
        heap.deallocate()
        idEnd.deallocate()
        for end in bareEnds { end.deallocate() }
    }

    /// Whether the reader has every event of its streams, or a snapshot instead. Only then may a snapshot have an id.
    package func hasEverything(_ reader: ReaderCursors, _ rings: borrowing Slab<FollowedRing>) -> Bool {
        reader.subscriptions.indices.allSatisfy { firstMissing(reader.subscriptions[$0], rings) == .max }
    }

    /// The first event of a stream that the reader lacks; 0 if it needs a snapshot.
    private func firstMissing(_ subscription: ReaderCursors.Subscription, _ rings: borrowing Slab<FollowedRing>) -> UInt64 {
        if subscription.awaitsValue || subscription.needsValue { return 0 }
        guard rings.contains(subscription.ring), subscription.cursor < rings[subscription.ring].view.endOrdinal else { return .max }
        return subscription.cursor < rings[subscription.ring].view.firstOrdinal ? 0 : rings[subscription.ring].view[subscription.cursor].sequence
    }

    /// Lists the reader's missing events.
    ///
    /// - Parameters:
    ///   - atMost: The approximate maximum number of bytes; at least one event is gathered.
    ///   - sendTime: The current time, if the reader requested timings.
    package func gather(_ reader: inout ReaderCursors, _ rings: borrowing Slab<FollowedRing>, atMost: Int = .max, _ sendTime: SendTime? = nil) {
        timings.begin(sendTime)
        vectorCount = 0
        partCount = 0
        room = atMost
        idEndCount = 0
        idFloor = .max
        remaining = reader.remaining ?? .max
        heapCount = 0
        for place in 0..<min(reader.subscriptions.count, Self.mostStreams) {
            let subscription = reader.subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.isHeld, rings.contains(subscription.ring) else {
                idFloor = min(idFloor, firstMissing(subscription, rings))
                continue
            }
            add(subscription, place, rings[subscription.ring])
        }
        if heapCount == 1 {
            take(heap[0].place, &reader, rings[heap[0].ring], from: heap[0].cursor, to: heap[0].end)
            return
        }
        for place in stride(from: heapCount / 2 - 1, through: 0, by: -1) { sink(place) }
        while heapCount > 0, vectorCount + Self.mostVectors <= Self.capacity, room > 0 {
            takeFirst(&reader, rings[heap[0].ring])
            sink(0)
        }
    }

    /// Adds a stream if the reader has missing events in it.
    private func add(_ subscription: ReaderCursors.Subscription, _ place: Int, _ ring: borrowing FollowedRing) {
        let end = ring.view.endOrdinal
        guard subscription.cursor < end else { return }
        heap[heapCount] = Next(
            sequence: ring.view[subscription.cursor].sequence, place: place, ring: subscription.ring, cursor: subscription.cursor, end: end)
        heapCount += 1
    }

    /// Adds the first stream's events up to the next stream's.
    private func takeFirst(_ reader: inout ReaderCursors, _ ring: borrowing FollowedRing) {
        let first = heap[0].cursor
        let second = heapCount < 2 ? .max : heapCount < 3 ? heap[1].sequence : min(heap[1].sequence, heap[2].sequence)
        var end = first + 1
        while end < heap[0].end, ring.view[end].sequence < second { end += 1 }
        let next = take(heap[0].place, &reader, ring, from: first, to: end)
        if next < heap[0].end {
            heap[0].cursor = next
            heap[0].sequence = ring.view[next].sequence
        } else {
            heapCount -= 1
            heap[0] = heap[heapCount]
        }
    }

    /// Restores the heap order below a place.
    private func sink(_ start: Int) {
        var place = start
        while case let left = 2 * place + 1, left < heapCount {
            let least = left + 1 < heapCount && heap[left + 1].sequence < heap[left].sequence ? left + 1 : left
            guard heap[least].sequence < heap[place].sequence else { return }
            swap(&heap[least], &heap[place])
            place = least
        }
    }

    /// Adds events one by one. Returns the event after the last one added; `end` if the reader wants no further events.
    @discardableResult
    private func take(
        _ place: Int, _ reader: inout ReaderCursors, _ ring: borrowing FollowedRing, from first: UInt64, to end: UInt64
    ) -> UInt64 {
        let subscription = reader.subscriptions[place]
        let bareEnd = UnsafeRawBufferPointer(bareEnds[reader.format.rawValue])
        let noEnd = UnsafeRawBufferPointer(start: nil, count: 0)
        let isAlone = (reader.format.isOfVenue || reader.streams == ring.streams) && remaining == .max && !timings.areTold
        if !isAlone, idEndCount == 0 { idEndCount = reader.format.writeIDEnd(of: reader.streams, to: idEnd) }
        let idEnd = UnsafeRawBufferPointer(start: idEnd, count: idEndCount)
        var next = first
        while next < end, remaining > 0, room > 0, vectorCount + Self.mostVectors <= Self.capacity {
            let entry = ring.view[next]
            let isBare = next < subscription.withoutIDUntil || entry.sequence >= idFloor
            if isAlone, !isBare {
                next = takeRun(place, ring, from: next, to: end)
                continue
            }
            let stop = isBare ? entry.bodyEnd : ring.view.idEnd(of: entry)
            let tail = !entry.carriesData ? noEnd : isBare ? bareEnd : idEnd
            let text = timings.text(of: entry)
            let textAt = text.count > 0 ? entry.bodyEnd - reader.format.closing : entry.start
            if text.count > 0 {
                vectorCount += ring.view.vectors(from: entry.start, to: textAt, into: vectors + vectorCount)
                add(text)
            }
            vectorCount += ring.view.vectors(from: textAt, to: stop, into: vectors + vectorCount)
            if tail.count > 0 { add(tail) }
            add(
                Part(
                    subscription: place, first: next, next: next + 1, end: stop, tail: tail, timings: text, timingsAt: textAt,
                    bytes: Int(stop - entry.start) + text.count + tail.count))
            if remaining < .max, entry.carriesData { remaining -= 1 }
            next += 1
        }
        return remaining == 0 ? end : next
    }

    /// Adds events exactly as they are in the ring, as many as there is room for and at least one. Returns the event after the last one added.
    private func takeRun(_ place: Int, _ ring: borrowing FollowedRing, from first: UInt64, to end: UInt64) -> UInt64 {
        var next = idFloor == .max ? end : min(end, max(first + 1, ring.view.ordinal(after: idFloor - 1)))
        let start = ring.view[first].start
        while next > first + 1, ring.view[next - 1].end - start > UInt64(room) { next = first + (next - first) / 2 }
        let stop = ring.view[next - 1].end
        vectorCount += ring.view.vectors(from: start, to: stop, into: vectors + vectorCount)
        let noEnd = UnsafeRawBufferPointer(start: nil, count: 0)
        add(Part(subscription: place, first: first, next: next, end: stop, tail: noEnd, bytes: Int(stop - start)))
        return next
    }

    private func add(_ bytes: UnsafeRawBufferPointer) {
        vectors[vectorCount] = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        vectorCount += 1
    }

    private func add(_ part: Part) {
        room -= min(room, part.bytes)
        parts[partCount] = part
        partCount += 1
    }

    /// Moves the reader's cursors past the sent bytes. Returns nil if everything was sent; otherwise the rest of the event that was cut, which is
    /// empty if the call ended between two events.
    package func advance(
        _ reader: inout ReaderCursors, _ rings: borrowing Slab<FollowedRing>, by sent: Int
    ) -> [UInt8]? {
        var left = sent
        passed = 0
        for index in 0..<partCount {
            let ring = reader.subscriptions[parts[index].subscription].ring
            guard rings.contains(ring) else { continue }
            guard left > 0 else { return [] }
            if let rest = pass(parts[index], &reader, rings[ring], sent: left) { return rest }
            left -= parts[index].bytes
        }
        return nil
    }

    /// The same for one part.
    private func pass(_ part: Part, _ reader: inout ReaderCursors, _ ring: borrowing FollowedRing, sent: Int) -> [UInt8]? {
        let start = ring.view[part.first].start
        var next = part.next
        if sent < part.bytes {
            // The cut event counts as sent; its rest is sent before anything else.
            next = part.first + 1
            while next < part.next, ring.view[next].start - start < UInt64(sent) { next += 1 }
        }
        let entry = ring.view[next - 1]
        passed &+= next - part.first
        reader.subscriptions[part.subscription].cursor = next
        reader.lastSequence = max(reader.lastSequence, entry.sequence)
        if entry.carriesData { reader.remaining = reader.remaining.map { max(0, $0 - 1) } }
        return sent >= part.bytes ? nil : rest(of: part, entry, ring, after: sent - Int(entry.start - start))
    }

    /// The rest of an event after its first `sent` bytes.
    private func rest(of part: Part, _ entry: RingView.Entry, _ ring: borrowing FollowedRing, after sent: Int) -> [UInt8] {
        if part.timings.count > 0 {
            let whole =
                ring.view.copy(from: entry.start, to: part.timingsAt) + part.timings + ring.view.copy(from: part.timingsAt, to: part.end) + part.tail
            return Array(whole.dropFirst(sent))
        }
        let end = part.next - part.first > 1 ? entry.end : part.end
        let inRing = Int(end - entry.start)
        guard sent < inRing else { return Array(part.tail.dropFirst(sent - inRing)) }
        return ring.view.copy(from: entry.start + UInt64(sent), to: end) + part.tail
    }
}
