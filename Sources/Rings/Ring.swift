/// The ring of one stream: its newest events, each encoded once, in one buffer that serves every reader. The ring grows up to its limits; then it
/// drops the oldest events.
///
/// One thread writes. Other threads read views of the ring, which may be older. Memory freed by a drop is overwritten only after every thread has a
/// newer view. Until then the ring uses other memory.
package struct Ring: ~Copyable {
    /// The progress of the threads that read the ring. A change that is made now is posted to them under the number `next`.
    package struct Readers {
        package let next: UInt64
        /// All threads have processed every change up to this number.
        package let seen: UInt64

        package init(next: UInt64, seen: UInt64) {
            self.next = next
            self.seen = seen
        }

        /// Only the writing thread reads.
        package static let none = Readers(next: 0, seen: .max)
    }

    /// The end of the memory before a drop, and the change number from which on it is unused.
    private struct Drop {
        let number: UInt64
        let ordinal: UInt64
        let offset: UInt64
    }

    /// The current contents of the ring.
    package private(set) var view: RingView
    private let configuredBytes: UInt64
    private let configuredEvents: UInt64
    private var maximumBytes: UInt64
    private var maximumEvents: UInt64
    private let maximumAge: Int64
    /// The end of an id for a reader of this stream only.
    private let ownEnd: [UInt8]
    /// Entries and bytes before these may be overwritten.
    private var freeOrdinal: UInt64 = 0
    private var freeOffset: UInt64 = 0
    /// The oldest drop that some thread may not know, and the newest one.
    private var firstDrop: Drop?
    private var lastDrop: Drop?

    /// - Parameters:
    ///   - floor: The newest event of any stream when the ring is created.
    ///   - maximumBytes: At least 4,096. The ring's memory is a power of two, of which an eighth stays free. A larger event is stored alone.
    ///   - maximumEvents: At least one.
    ///   - maximumAge: The age in nanoseconds beyond which an event is dropped by the next one.
    ///   - ownEnd: The end of an id for a reader of this stream only.
    package init(floor: UInt64, maximumBytes: UInt64, maximumEvents: UInt64, maximumAge: Int64, ownEnd: [UInt8] = []) {
        self.ownEnd = ownEnd
        configuredBytes = max(4096, maximumBytes)
        configuredEvents = max(1, maximumEvents)
        (self.maximumBytes, self.maximumEvents) = (configuredBytes, configuredEvents)
        self.maximumAge = maximumAge
        let memory = RingMemory(capacity: Self.leastBytes, entryCapacity: Self.leastEvents)
        view = RingView(RingView.Extent(floor: floor), memory, ownEndCount: ownEnd.count)
    }

    package var size: RingQuota.Size {
        let newest = view.firstOrdinal < view.endOrdinal ? view.extent.endOffset - view[view.endOrdinal - 1].start : 0
        return RingQuota.Size(bytes: view.capacity, events: view.entryCapacity, least: Self.power(of: newest, atLeast: Self.leastBytes))
    }

    /// Appends an event.
    ///
    /// - Parameters:
    ///   - text: The event up to the part of its id that readers have in common.
    ///   - idStart: Where the id starts; nil for an event without one.
    ///   - eventTime: The venue's time, ms since 1970 UTC; nil if it sent none.
    ///   - now: When it was received, monotonic nanoseconds.
    /// - Returns: Whether the view's extent describes the whole change. If not, the ring has other memory, or has dropped an event without data.
    @discardableResult
    package mutating func append(
        sequence: UInt64, text: [UInt8], idStart: Int? = nil, carriesData: Bool, eventTime: Int64? = nil, now: Int64, _ readers: Readers = .none
    ) -> Bool {
        let (memory, gone) = (view.bytes, view.goneNotices.last?.ordinal)
        let length = UInt64(text.count + (idStart == nil ? 0 : ownEnd.count))
        evict(for: length, now: now, readers)
        reserve(length)
        let start = view.extent.endOffset
        let (bytes, capacity) = (view.bytes, view.capacity)
        text.withUnsafeBytes { Self.copy($0, to: bytes, start, capacity) }
        if idStart != nil { ownEnd.withUnsafeBytes { Self.copy($0, to: bytes, start + UInt64(text.count), capacity) } }
        view.extent.endOffset = start + length
        view.entries[Int(view.endOrdinal & (view.entryCapacity - 1))] = RingView.Entry(
            sequence: sequence, start: start, bodyEnd: start + UInt64(idStart ?? text.count), end: start + length, appendedAt: now,
            carriesData: carriesData,
            eventTime: eventTime)
        view.extent.endOrdinal += 1
        if !carriesData { view.extent.noticesEnd = view.endOrdinal }
        return view.bytes == memory && view.goneNotices.last?.ordinal == gone
    }

    /// Limits the ring's memory to its share from now on. Drops the oldest events beyond it, but never the newest event.
    ///
    /// - Returns: Whether nothing has changed.
    @discardableResult
    package mutating func limit(to share: RingQuota) -> Bool {
        maximumBytes = min(configuredBytes, share.bytes)
        maximumEvents = max(1, min(configuredEvents, share.events ?? .max))
        guard view.capacity > share.bytes || view.entryCapacity > share.events ?? .max else { return true }
        let before = count
        while count > 1, view.held > mostBytes || count > mostEvents { dropFirst() }
        let bytes = min(view.capacity, Self.power(of: view.held, atLeast: Self.leastBytes))
        let events = min(view.entryCapacity, Self.power(of: count, atLeast: Self.leastEvents))
        guard count < before || bytes < view.capacity || events < view.entryCapacity else { return true }
        move(toBytes: bytes, events: events)
        return false
    }

    /// Removes all events, including the dropped ones that `notices` returns. Ordinals continue, so cursors stay valid.
    ///
    /// - Parameter floor: The sequence of the newest event before the next one.
    package mutating func empty(floor: UInt64) {
        (view.extent.floor, view.extent.firstOrdinal) = (floor, view.endOrdinal)
        (view.goneNotices, view.noticesStart) = ([], view.endOrdinal)
        // Other threads may still read the memory.
        move(toBytes: Self.leastBytes, events: Self.leastEvents)
    }

    @inline(__always)
    private var count: UInt64 { view.endOrdinal - view.firstOrdinal }

    /// The maximum number of bytes and events, as configured. But an eighth of the largest memory stays free for events that arrive before all
    /// threads have processed a drop.
    private var mostBytes: UInt64 { min(maximumBytes, Self.power(of: maximumBytes, atLeast: Self.leastBytes) / 8 * 7) }
    private var mostEvents: UInt64 { min(maximumEvents, Self.power(of: maximumEvents, atLeast: Self.leastEvents) / 8 * 7) }

    /// The smallest power of two that is at least `number` and `least`, which is one itself; at most 2^62.
    private static func power(of number: UInt64, atLeast least: UInt64) -> UInt64 {
        guard number > least, number > 1 else { return least }
        return 1 << UInt64(min(62, 64 - (number - 1).leadingZeroBitCount))
    }

    private mutating func evict(for length: UInt64, now: Int64, _ readers: Readers) {
        let before = view.firstOrdinal
        while view.firstOrdinal < view.endOrdinal {
            let entry = view[view.firstOrdinal]
            guard
                view.extent.endOffset + length - entry.start > mostBytes || count >= mostEvents || now - entry.appendedAt > maximumAge
            else { break }
            dropFirst()
        }
        if view.firstOrdinal > before {
            let drop = Drop(number: readers.next, ordinal: view.firstOrdinal, offset: view.startOffset)
            if firstDrop == nil { firstDrop = drop } else { lastDrop = drop }
        }
        while let drop = firstDrop, drop.number <= readers.seen {
            (freeOrdinal, freeOffset) = (drop.ordinal, drop.offset)
            (firstDrop, lastDrop) = (lastDrop, nil)
        }
    }

    private mutating func dropFirst() {
        let entry = view[view.firstOrdinal]
        view.extent.floor = entry.sequence
        if !entry.carriesData {
            if view.goneNotices.count == Self.mostGoneNotices { view.noticesStart = view.goneNotices.removeFirst().ordinal + 1 }
            view.goneNotices.append((view.firstOrdinal, view.copy(from: entry.start, to: entry.end)))
        }
        view.extent.firstOrdinal += 1
    }

    /// Makes room. A ring that is nearly full grows if allowed. Otherwise the events move to memory of the same size.
    private mutating func reserve(_ length: UInt64) {
        let isTight = view.extent.endOffset + length - freeOffset > view.capacity || view.endOrdinal - freeOrdinal >= view.entryCapacity
        guard isTight else { return }
        move(
            toBytes: Self.grown(view.capacity, for: view.held + length, atMost: Self.power(of: maximumBytes, atLeast: Self.leastBytes)),
            events: Self.grown(view.entryCapacity, for: count + 1, atMost: Self.power(of: maximumEvents, atLeast: Self.leastEvents)))
    }

    private static func grown(_ size: UInt64, for need: UInt64, atMost most: UInt64) -> UInt64 {
        let size = power(of: need, atLeast: size)
        return need > size / 8 * 7 && size < most ? size * 2 : size
    }

    /// Moves the events to new memory. Views of the old memory retain it.
    ///
    /// - Parameters: Powers of two that the events fit into.
    private mutating func move(toBytes capacity: UInt64, events entryCapacity: UInt64) {
        let memory = RingMemory(capacity: capacity, entryCapacity: entryCapacity)
        var offset = view.startOffset
        (freeOrdinal, freeOffset, firstDrop, lastDrop) = (view.firstOrdinal, offset, nil, nil)
        while offset < view.extent.endOffset {
            let run = min(
                view.extent.endOffset - offset, view.capacity - (offset & (view.capacity - 1)), capacity - (offset & (capacity - 1)))
            (memory.bytes + Int(offset & (capacity - 1))).copyMemory(
                from: view.bytes + Int(offset & (view.capacity - 1)), byteCount: Int(run))
            offset += run
        }
        for ordinal in view.firstOrdinal..<view.endOrdinal { memory.entries[Int(ordinal & (entryCapacity - 1))] = view[ordinal] }
        var moved = RingView(view.extent, memory, ownEndCount: ownEnd.count)
        (moved.goneNotices, moved.noticesStart) = (view.goneNotices, view.noticesStart)
        view = moved
    }

    /// Copies bytes to an offset of a ring's memory. At the end of the memory, the copy continues at its beginning.
    private static func copy(_ source: UnsafeRawBufferPointer, to memory: UnsafeMutableRawPointer, _ offset: UInt64, _ capacity: UInt64) {
        guard let base = source.baseAddress else { return }
        let place = Int(offset & (capacity - 1))
        let run = min(source.count, Int(capacity) - place)
        (memory + place).copyMemory(from: base, byteCount: run)
        if run < source.count { memory.copyMemory(from: base + run, byteCount: source.count - run) }
    }
}
