package import Glibc

/// Holds the newest events of one stream, each encoded once, in one ring of bytes that serves every reader.
///
/// An ordinal counts the events; a reader's place in the log is an ordinal and nothing else. The ring grows up to its bounds, then it drops the oldest
/// events. Only the fan-out's thread touches a log.
package struct StreamLog: ~Copyable {
    package struct Entry {
        /// The event's place among the events of all streams.
        package let sequence: UInt64
        /// Where the event begins, counted in all bytes that were ever appended; so are the two ends.
        package let start: UInt64
        /// Where the id begins: the bytes before it are the event without its id and its end. An event without data has no id; for it, this is `end`.
        package let bodyEnd: UInt64
        /// Where the event ends, written as for a reader of this stream alone.
        package let end: UInt64
        /// Monotonic nanoseconds.
        package let appendedAt: Int64
        /// Whether the event is a value or a change of one.
        package let carriesData: Bool
    }

    private var bytes: UnsafeMutableRawPointer
    private var capacity: UInt64
    private var entries: UnsafeMutablePointer<Entry>
    private var entryCapacity: UInt64
    private let configuredBytes: UInt64
    private let configuredEvents: UInt64
    private var maximumBytes: UInt64
    private var maximumEvents: UInt64
    private let maximumAge: Int64
    /// What ends an id for a reader of this stream alone.
    private let ownEnd: [UInt8]

    /// The oldest event held.
    package private(set) var firstOrdinal: UInt64 = 0
    /// One past the newest.
    package private(set) var endOrdinal: UInt64 = 0
    private var endOffset: UInt64 = 0
    /// The log holds no event up to this sequence: such events came before the log, or it has dropped them.
    package private(set) var floor: UInt64
    /// The newest events without data that the ring has dropped, with their ordinals.
    private var goneNotices: [(ordinal: UInt64, bytes: [UInt8])] = []
    private static let mostGoneNotices = 16

    /// - Parameters:
    ///   - floor: the newest event of any stream when the log begins.
    ///   - maximumBytes: 4,096 or more; the log holds a larger event alone.
    ///   - maximumEvents: one at least.
    ///   - maximumAge: the nanoseconds after which the next event drops an event.
    ///   - ownEnd: what ends an id for a reader of this stream alone.
    package init(floor: UInt64, maximumBytes: UInt64, maximumEvents: UInt64, maximumAge: Int64, ownEnd: [UInt8] = []) {
        self.floor = floor
        self.ownEnd = ownEnd
        configuredBytes = max(4096, maximumBytes)
        configuredEvents = max(1, maximumEvents)
        (self.maximumBytes, self.maximumEvents) = (configuredBytes, configuredEvents)
        self.maximumAge = maximumAge
        capacity = 4096
        bytes = .allocate(byteCount: Int(capacity), alignment: 64)
        entryCapacity = 16
        entries = .allocate(capacity: Int(entryCapacity))
    }

    deinit {
        bytes.deallocate()
        entries.deallocate()
    }

    package subscript(ordinal: UInt64) -> Entry { entries[Int(ordinal & (entryCapacity - 1))] }

    /// Where the part of an event's id ends that is the same for all readers; the reader's streams follow it.
    package func idEnd(of entry: Entry) -> UInt64 { entry.carriesData ? entry.end - UInt64(ownEnd.count) : entry.end }

    /// The oldest held event that is newer than `sequence`.
    package func ordinal(after sequence: UInt64) -> UInt64 {
        var (low, high) = (firstOrdinal, endOrdinal)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// How many bytes of events the log holds, and how many bytes of memory it takes for them.
    package var held: UInt64 { endOffset - startOffset }
    package var memory: UInt64 { capacity + entryCapacity * Self.bytesPerEvent }
    package var size: RingQuota.Size {
        let newest = firstOrdinal < endOrdinal ? endOffset - self[endOrdinal - 1].start : 0
        return RingQuota.Size(bytes: capacity, events: entryCapacity, least: Self.ring(for: newest))
    }
    package static let bytesPerEvent = UInt64(MemoryLayout<Entry>.stride)

    /// How many bytes the log holds from an event on; all, if it has dropped that event.
    package func bytes(from ordinal: UInt64) -> UInt64 { ordinal < endOrdinal ? endOffset - self[max(ordinal, firstOrdinal)].start : 0 }

    /// The newest event with data from `ordinal` up to `end`; nil if the log holds none.
    package func newestData(from ordinal: UInt64, before end: UInt64 = .max) -> UInt64? {
        var next = min(end, endOrdinal)
        while next > max(ordinal, firstOrdinal) {
            next -= 1
            if self[next].carriesData { return next }
        }
        return nil
    }

    /// The events without data from one place up to another, as readers get them. The last few that the ring has dropped are among them, so that a
    /// reader that skips values still hears of outages.
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

    package mutating func append(sequence: UInt64, body: [UInt8], id: [UInt8], carriesData: Bool, now: Int64) {
        let ownEnd = id.isEmpty ? [] : ownEnd
        let length = UInt64(body.count + id.count + ownEnd.count)
        evict(for: length, now: now)
        reserve(length)
        let start = endOffset
        copy(body, to: start)
        let bodyEnd = start + UInt64(body.count)
        copy(id, to: bodyEnd)
        copy(ownEnd, to: bodyEnd + UInt64(id.count))
        endOffset = start + length
        entries[Int(endOrdinal & (entryCapacity - 1))] = Entry(
            sequence: sequence, start: start, bodyEnd: bodyEnd, end: endOffset, appendedAt: now, carriesData: carriesData)
        endOrdinal += 1
    }

    /// Adds the bytes between two places to the list of vectors: one vector, or two if the ring wraps. Returns how many.
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

    /// Keeps the log's memory within its share from now on. Drops what is too much, oldest events first, but never the newest event.
    package mutating func limit(to share: RingQuota) {
        maximumBytes = min(configuredBytes, share.bytes)
        maximumEvents = max(1, min(configuredEvents, share.events ?? .max))
        guard capacity > share.bytes || entryCapacity > share.events ?? .max else { return }
        while endOrdinal - firstOrdinal > 1, held > maximumBytes || endOrdinal - firstOrdinal > maximumEvents { dropFirst() }
        let smaller = Self.ring(for: held)
        if smaller < capacity { resize(to: smaller) }
        var fewer: UInt64 = 16
        while fewer < endOrdinal - firstOrdinal { fewer *= 2 }
        if fewer < entryCapacity { resizeEntries(to: fewer) }
    }

    /// The least ring that holds so many bytes.
    private static func ring(for bytes: UInt64) -> UInt64 {
        var ring: UInt64 = 4096
        while ring < bytes { ring *= 2 }
        return ring
    }

    private var startOffset: UInt64 { firstOrdinal < endOrdinal ? self[firstOrdinal].start : endOffset }

    private mutating func evict(for length: UInt64, now: Int64) {
        while firstOrdinal < endOrdinal {
            let entry = self[firstOrdinal]
            guard
                endOffset + length - entry.start > maximumBytes || endOrdinal - firstOrdinal >= maximumEvents
                    || now - entry.appendedAt > maximumAge
            else { return }
            dropFirst()
        }
    }

    private mutating func dropFirst() {
        let entry = self[firstOrdinal]
        floor = entry.sequence
        if !entry.carriesData {
            if goneNotices.count == Self.mostGoneNotices { goneNotices.removeFirst() }
            goneNotices.append((firstOrdinal, copy(from: entry.start, to: entry.end)))
        }
        firstOrdinal += 1
    }

    private mutating func reserve(_ length: UInt64) {
        let start = startOffset
        if endOffset + length - start > capacity {
            var larger = capacity
            while endOffset + length - start > larger { larger *= 2 }
            resize(to: larger)
        }
        if endOrdinal - firstOrdinal == entryCapacity { resizeEntries(to: entryCapacity * 2) }
    }

    /// - Parameter size: a power of two that the held bytes fit into.
    private mutating func resize(to size: UInt64) {
        let target = UnsafeMutableRawPointer.allocate(byteCount: Int(size), alignment: 64)
        var offset = startOffset
        while offset < endOffset {
            let run = min(endOffset - offset, capacity - (offset & (capacity - 1)), size - (offset & (size - 1)))
            (target + Int(offset & (size - 1))).copyMemory(from: bytes + Int(offset & (capacity - 1)), byteCount: Int(run))
            offset += run
        }
        bytes.deallocate()
        bytes = target
        capacity = size
    }

    private mutating func resizeEntries(to count: UInt64) {
        let target = UnsafeMutablePointer<Entry>.allocate(capacity: Int(count))
        for ordinal in firstOrdinal..<endOrdinal { target[Int(ordinal & (count - 1))] = self[ordinal] }
        entries.deallocate()
        entries = target
        entryCapacity = count
    }

    private func copy(_ source: [UInt8], to offset: UInt64) {
        source.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            let place = Int(offset & (capacity - 1))
            let run = min(source.count, Int(capacity) - place)
            (bytes + place).copyMemory(from: base, byteCount: run)
            if run < source.count { bytes.copyMemory(from: base + run, byteCount: source.count - run) }
        }
    }
}
