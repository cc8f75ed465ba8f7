/// Writes compact JSON text in place into one buffer, which grows by doubling.
///
/// Its functions are not generic: other modules would call generic ones through witness tables and allocate for each element.
@usableFromInline package struct JSONWriter: ~Copyable {
    @usableFromInline var buffer: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    @usableFromInline var count = 0
    @usableFromInline var needsComma = false
    /// Whether another owner holds the buffer.
    private var isLent = false

    package init(capacity: Int = 256) {
        self.capacity = max(capacity, 64)
        buffer = .allocate(capacity: self.capacity)
    }

    /// Writes into memory that its owner keeps. If that is too small, the text moves to memory of the writer.
    package init(lent buffer: UnsafeMutablePointer<UInt8>, capacity: Int) {
        (self.buffer, self.capacity) = (buffer, capacity)
        isLent = true
    }

    deinit { if !isLent { buffer.deallocate() } }

    /// Writes a new array. A short text is written on the stack first, because an array of the right size costs less than one that may be too large.
    package static func bytes(capacity: Int, _ write: (inout JSONWriter) -> Void) -> [UInt8] {
        guard capacity <= onStack else {
            var longer: [UInt8]?
            let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
                guard let start = buffer.baseAddress else { return }
                var writer = JSONWriter(lent: start, capacity: buffer.count)
                write(&writer)
                if writer.isLent { count = writer.count } else { longer = writer.bytes }
            }
            return longer ?? bytes
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: onStack) { buffer in
            guard let start = buffer.baseAddress else { return [] }
            var writer = JSONWriter(lent: start, capacity: buffer.count)
            write(&writer)
            return writer.bytes
        }
    }

    /// The largest text that is written on the stack, in bytes.
    private static let onStack = 1024

    /// The length of the text so far, in bytes.
    package var length: Int { count }

    /// Writes bytes that are not JSON, unchanged.
    @inlinable @inline(__always)
    package mutating func plain(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        put(text)
    }

    /// Writes bytes that are encoded already, unchanged.
    package mutating func plain(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBufferPointer {
            reserve($0.count)
            put($0)
        }
    }

    /// Writes bytes of this text again, unchanged.
    package mutating func repeating(_ part: Range<Int>) {
        guard part.lowerBound >= 0, part.upperBound <= count else { return }
        reserve(part.count)
        (buffer + count).update(from: buffer + part.lowerBound, count: part.count)
        count += part.count
    }

    /// Writes an event id, and returns where it is.
    package mutating func plain(_ id: EventID) -> Range<Int> {
        reserve(EventID.room)
        let start = count
        count += id.write(to: buffer + start)
        return start..<count
    }

    /// The text so far.
    package var bytes: [UInt8] { Array(UnsafeBufferPointer(start: buffer, count: count)) }

    @inlinable @inline(__always)
    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        members(&self)
        close(UInt8(ascii: "}"))
    }

    @inlinable @inline(__always)
    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a value that is already JSON.
    package mutating func raw(_ row: JSONRow) { raw(checked: row.text) }

    /// Writes a value that is validated JSON on one line.
    package mutating func raw(checked text: String) {
        var text = text
        text.withUTF8 { bytes in
            reserve(bytes.count + 1)
            separate()
            put(bytes)
        }
        needsComma = true
    }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString) {
        reserve(name.utf8CodeUnitCount + 4)
        begin(name)
    }

    /// Writes the start of a member. The buffer must have room for the name and four more bytes.
    @inlinable @inline(__always)
    mutating func begin(_ name: StaticString) {
        separate()
        put(UInt8(ascii: "\""))
        put(name)
        let place = UnsafeMutableRawPointer(buffer + count)
        place.storeBytes(of: (UInt16(UInt8(ascii: ":")) << 8 | UInt16(UInt8(ascii: "\""))).littleEndian, as: UInt16.self)
        count += 2
        needsComma = false
    }

    package mutating func member(_ name: StaticString, _ text: String) {
        member(name)
        string(text)
    }

    /// Writes a member whose value is a fixed word that needs no escape.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, word: StaticString) {
        reserve(name.utf8CodeUnitCount + word.utf8CodeUnitCount + 6)
        begin(name)
        put(UInt8(ascii: "\""))
        put(word)
        put(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a member whose value is a stream's name, which needs no escape.
    package mutating func member(_ name: StaticString, _ stream: FuturesServiceStreamName) {
        member(name)
        quoted(stream.description)
    }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ number: Int64) {
        reserve(name.utf8CodeUnitCount + 32)
        begin(name)
        digits(number.magnitude, isNegative: number < 0)
    }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ number: Int) { member(name, Int64(number)) }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ number: UInt64) {
        reserve(name.utf8CodeUnitCount + 32)
        begin(name)
        digits(number, isNegative: false)
    }

    package mutating func member(_ name: StaticString, _ flag: Bool) {
        member(name)
        literal(flag ? "true" : "false")
    }

    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, _ decimal: DecimalString) {
        reserve(name.utf8CodeUnitCount + DecimalString.longest + 6)
        begin(name)
        put(decimal)
        needsComma = true
    }

    package mutating func decimal(_ decimal: DecimalString) {
        reserve(DecimalString.longest + 3)
        separate()
        put(decimal)
        needsComma = true
    }

    @inlinable @inline(__always)
    mutating func put(_ decimal: DecimalString) {
        put(UInt8(ascii: "\""))
        count += decimal.write(to: buffer + count)
        put(UInt8(ascii: "\""))
    }

    package mutating func member(_ name: StaticString, _ id: EventID) {
        member(name)
        reserve(EventID.room + 3)
        put(UInt8(ascii: "\""))
        count += id.write(to: buffer + count)
        put(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes an array of two decimals.
    @inlinable @inline(__always)
    package mutating func pair(_ first: DecimalString, _ second: DecimalString) {
        reserve(2 * DecimalString.longest + 8)
        separate()
        put(UInt8(ascii: "["))
        put(first)
        put(UInt8(ascii: ","))
        put(second)
        put(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Omits the member if there is no value.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, optional decimal: DecimalString?) {
        if let decimal { member(name, decimal) }
    }

    /// Omits the member if there is no value.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, optional number: Int64?) {
        if let number { member(name, number) }
    }

    /// Omits the member if there is no value.
    @inlinable @inline(__always)
    package mutating func member(_ name: StaticString, optional number: UInt64?) {
        if let number { member(name, number) }
    }

    package mutating func member(_ name: StaticString, orNull number: Int64?) {
        member(name)
        if let number { integer(number) } else { null() }
    }

    package mutating func member(_ name: StaticString, orNull number: UInt64?) {
        member(name)
        if let number { integer(number) } else { null() }
    }

    package mutating func null() { literal("null") }

    package mutating func integer(_ number: Int64) {
        reserve(32)
        separate()
        digits(number.magnitude, isNegative: number < 0)
    }

    package mutating func integer(_ number: UInt64) {
        reserve(32)
        separate()
        digits(number, isNegative: false)
    }

    /// Writes a number. The buffer must have 26 writable bytes.
    @usableFromInline
    mutating func digits(_ magnitude: UInt64, isNegative: Bool) {
        if isNegative { put(UInt8(ascii: "-")) }
        if magnitude < 100_000_000 {
            put(EightCharacters(number: magnitude), isFirst: true)
        } else if magnitude < 10_000_000_000_000_000 {
            put(EightCharacters(number: magnitude / 100_000_000), isFirst: true)
            put(EightCharacters(number: magnitude % 100_000_000))
        } else {
            let rest = magnitude % 10_000_000_000_000_000
            put(EightCharacters(number: magnitude / 10_000_000_000_000_000), isFirst: true)
            put(EightCharacters(number: rest / 100_000_000))
            put(EightCharacters(number: rest % 100_000_000))
        }
        needsComma = true
    }

    /// Writes eight digits; the first group without leading zeros. The buffer must have room for eight bytes.
    @inline(__always)
    private mutating func put(_ digits: EightCharacters, isFirst: Bool = false) {
        let zeros = isFirst ? digits.leadingZeros : 0
        UnsafeMutableRawPointer(buffer + count).storeBytes(of: (digits.bits >> UInt64(zeros * 8)).littleEndian, as: UInt64.self)
        count += 8 - zeros
    }

    /// Writes a text that needs no escape.
    private mutating func quoted(_ text: String) {
        var copy = text
        copy.withUTF8 { quoted($0) }
    }

    mutating func quoted(_ units: UnsafeBufferPointer<UInt8>) {
        reserve(units.count + 3)
        separate()
        put(UInt8(ascii: "\""))
        put(units)
        put(UInt8(ascii: "\""))
        needsComma = true
    }

    private mutating func literal(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount + 1)
        separate()
        put(text)
        needsComma = true
    }

    @inlinable @inline(__always)
    mutating func open(_ bracket: UInt8) {
        reserve(2)
        separate()
        put(bracket)
        needsComma = false
    }

    @inlinable @inline(__always)
    mutating func close(_ bracket: UInt8) {
        reserve(1)
        put(bracket)
        needsComma = true
    }

    /// Writes a comma if one is due. The byte is always written but counted only if due, which avoids a branch.
    @inlinable @inline(__always)
    mutating func separate() {
        buffer[count] = UInt8(ascii: ",")
        count += needsComma ? 1 : 0
    }

    /// Reserves room; every writing function calls it first.
    @inlinable @inline(__always)
    mutating func reserve(_ room: Int) { if capacity - count < room { grow(room) } }

    @usableFromInline
    mutating func grow(_ room: Int) {
        let larger = max(capacity * 2, count + room)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        memory.initialize(from: buffer, count: count)
        if !isLent { buffer.deallocate() }
        (buffer, capacity) = (memory, larger)
        isLent = false
    }

    @inlinable @inline(__always)
    mutating func put(_ byte: UInt8) {
        buffer[count] = byte
        count += 1
    }

    /// Writes bytes whose number is known at compile time.
    @inlinable @inline(__always)
    mutating func put(_ text: StaticString) {
        UnsafeMutableRawPointer(buffer + count).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        count += text.utf8CodeUnitCount
    }

    mutating func put(_ units: UnsafeBufferPointer<UInt8>) {
        guard let source = units.baseAddress else { return }
        let (from, to) = (UnsafeRawPointer(source), UnsafeMutableRawPointer(buffer + count))
        let end = units.count - 8
        if end >= 0, end <= 8 {
            // Names and words are short: two overlapping stores cost a fraction of a call.
            let (first, last) = (from.loadUnaligned(as: UInt64.self), from.loadUnaligned(fromByteOffset: end, as: UInt64.self))
            to.storeBytes(of: first, as: UInt64.self)
            to.storeBytes(of: last, toByteOffset: end, as: UInt64.self)
        } else if end < 0 {
            for place in 0..<units.count { (buffer + count)[place] = source[place] }
        } else {
            to.copyMemory(from: from, byteCount: units.count)
        }
        count += units.count
    }
}
