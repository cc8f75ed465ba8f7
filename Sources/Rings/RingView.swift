#if canImport(Darwin)
    package import Darwin
#elseif canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#endif

/// The contents of one stream's ring at one moment: its events, oldest first.
///
/// An ordinal counts the events of the stream; a cursor is an ordinal. Other threads may read a view without a lock, because ``Ring`` does not
/// overwrite memory that a view in use covers.
package struct RingView: @unchecked Sendable {
    package struct Entry {
        /// The event's number among the events of all streams.
        package let sequence: UInt64
        /// Where the event starts, counted over all bytes ever appended; the same holds for the two ends.
        package let start: UInt64
        /// Where the id starts: the bytes before it are the event without its id and its end. An event without data has no id; for it, this is `end`.
        package let bodyEnd: UInt64
        /// Where the event ends, written as for a reader of this stream only.
        package let end: UInt64
        /// When it was received, monotonic nanoseconds.
        package let appendedAt: Int64
        /// The venue's time and `carriesData` in one number, to keep the entry small.
        private let mark: Int64

        /// - Parameters:
        ///   - carriesData: Whether the event is a snapshot or an update.
        ///   - eventTime: The venue's time, ms since 1970 UTC; nil if the venue sent none.
        init(sequence: UInt64, start: UInt64, bodyEnd: UInt64, end: UInt64, appendedAt: Int64, carriesData: Bool, eventTime: Int64?) {
            (self.sequence, self.start, self.bodyEnd, self.end, self.appendedAt) = (sequence, start, bodyEnd, end, appendedAt)
            mark = carriesData ? max(eventTime ?? Self.timeless, Self.timeless) : Self.dataless
        }

        private static let dataless = Int64.min
        private static let timeless = Int64.min + 1

        /// Whether the event is a snapshot or an update.
        package var carriesData: Bool { mark != Self.dataless }
        /// The venue's time of the event, ms since 1970 UTC; nil if it sent none.
        package var eventTime: Int64? { mark > Self.timeless ? mark : nil }
    }

    /// The range of events in the ring.
    package struct Extent: Sendable {
        /// The ring has no event up to this sequence: earlier events came before the ring, or it has dropped them.
        package internal(set) var floor: UInt64
        /// The oldest event in the ring.
        package internal(set) var firstOrdinal: UInt64 = 0
        /// One past the newest.
        package internal(set) var endOrdinal: UInt64 = 0
        /// One past the newest event without data that was ever appended.
        package internal(set) var noticesEnd: UInt64 = 0
        var endOffset: UInt64 = 0
    }

    // A call of an accessor that is not inlined copies the view.
    package var extent: Extent
    /// Retains the memory of the pointers.
    private let memory: RingMemory
    let bytes: UnsafeMutableRawPointer
    let capacity: UInt64
    let entries: UnsafeMutablePointer<Entry>
    let entryCapacity: UInt64
    /// The number of bytes that end an id for a reader of this stream only.
    let ownEndCount: UInt64
    /// The newest dropped events without data, with their ordinals.
    var goneNotices: [(ordinal: UInt64, bytes: [UInt8])] = []
    /// `notices` returns every event without data from this ordinal on.
    package internal(set) var noticesStart: UInt64 = 0

    init(_ extent: Extent, _ memory: RingMemory, ownEndCount: Int) {
        self.extent = extent
        self.memory = memory
        self.ownEndCount = UInt64(ownEndCount)
        (bytes, capacity, entries, entryCapacity) = (memory.bytes, memory.capacity, memory.entries, memory.entryCapacity)
    }

    @inline(__always)
    package var floor: UInt64 { extent.floor }
    @inline(__always)
    package var firstOrdinal: UInt64 { extent.firstOrdinal }
    @inline(__always)
    package var endOrdinal: UInt64 { extent.endOrdinal }

    @inline(__always)
    package subscript(ordinal: UInt64) -> Entry { entries[Int(ordinal & (entryCapacity - 1))] }

    /// Where the part of an event's id ends that is the same for all readers; the reader's streams follow it.
    package func idEnd(of entry: Entry) -> UInt64 { entry.carriesData ? entry.end - ownEndCount : entry.end }

    /// The oldest event in the ring that is newer than `sequence`.
    package func ordinal(after sequence: UInt64) -> UInt64 {
        var (low, high) = (firstOrdinal, endOrdinal)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The bytes of events in the ring, and the memory that they use.
    @inline(__always)
    package var held: UInt64 { extent.endOffset - startOffset }
    package var memorySize: UInt64 { capacity + entryCapacity * Self.bytesPerEvent }
    package static let bytesPerEvent = UInt64(MemoryLayout<Entry>.stride)

    @inline(__always)
    var startOffset: UInt64 { firstOrdinal < endOrdinal ? self[firstOrdinal].start : extent.endOffset }

    /// The bytes in the ring from an event on; all bytes if that event was dropped.
    package func bytes(from ordinal: UInt64) -> UInt64 {
        let first = max(ordinal, firstOrdinal)
        return first < endOrdinal ? extent.endOffset - self[first].start : 0
    }

    /// The newest event with data from `ordinal` up to `end`; nil if the ring has none.
    package func newestData(from ordinal: UInt64, before end: UInt64 = .max) -> UInt64? {
        var next = min(end, endOrdinal)
        while next > max(ordinal, firstOrdinal) {
            next -= 1
            if self[next].carriesData { return next }
        }
        return nil
    }

    /// The events without data between two ordinals, as readers get them. They include the last few dropped ones, so that a reader that skips updates
    /// still gets the events of outages.
    package func notices(from ordinal: UInt64, to end: UInt64) -> [[UInt8]] {
        var notices = goneNotices.filter { (ordinal..<end).contains($0.ordinal) }.map(\.bytes)
        var next = max(ordinal, firstOrdinal)
        while next < end {
            let entry = self[next]
            if !entry.carriesData { notices.append(copy(from: entry.start, to: entry.end)) }
            next += 1
        }
        return notices
    }

    /// Adds the bytes between two places as vectors: one, or two if the ring wraps. Returns their number.
    package func vectors(from start: UInt64, to end: UInt64, into vectors: UnsafeMutablePointer<iovec>) -> Int {
        let mask = capacity - 1
        let offset = start & mask
        let length = end - start
        let untilWrap = capacity - offset
        if length <= untilWrap {
            vectors[0] = iovec(iov_base: bytes + Int(offset), iov_len: Int(length))
            return 1
        }
        vectors[0] = iovec(iov_base: bytes + Int(offset), iov_len: Int(untilWrap))
        vectors[1] = iovec(iov_base: bytes, iov_len: Int(length - untilWrap))
        return 2
    }

    /// A copy of the bytes between two places.
    package func copy(from start: UInt64, to end: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(end - start)) { buffer, count in
            withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                guard let base = parts.baseAddress, let target = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
                for part in parts[..<vectors(from: start, to: end, into: base)] {
                    if let source = part.iov_base { (target + count).copyMemory(from: source, byteCount: part.iov_len) }
                    count += part.iov_len
                }
            }
        }
    }
}

/// The memory of one ring. It lives as long as a view of it.
final class RingMemory {
    let bytes: UnsafeMutableRawPointer
    /// A power of two, like `entryCapacity`.
    let capacity: UInt64
    let entries: UnsafeMutablePointer<RingView.Entry>
    let entryCapacity: UInt64

    init(capacity: UInt64, entryCapacity: UInt64) {
        self.capacity = capacity
        self.entryCapacity = entryCapacity
        bytes = .allocate(byteCount: Int(capacity), alignment: 64)
        entries = .allocate(capacity: Int(entryCapacity))
    }

    deinit {
        bytes.deallocate()
        entries.deallocate()
    }
}
