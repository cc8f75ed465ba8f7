/// A frequent object is written as constant parts, which include the names and the punctuation, and the values between them. `room` reserves memory for
/// all of them before. Debug builds check that it was enough.
extension JSONWriter {
    /// Reserves room for parts: at most this many numbers, and as many bytes of other text.
    @inlinable @inline(__always)
    package mutating func room(numbers: Int, others: Int) { reserve(numbers * (DecimalString.longest + 1) + others) }

    /// Writes the first part of an element or a value. Needs no `room`.
    @inlinable @inline(__always)
    package mutating func start(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount + 1)
        separate()
        put(text)
        needsComma = false
    }

    /// Writes a constant part.
    @inlinable @inline(__always)
    package mutating func part(_ text: StaticString) {
        assert(has(text.utf8CodeUnitCount))
        put(text)
    }

    @inlinable @inline(__always)
    func has(_ room: Int) -> Bool { capacity - count >= room }

    /// Writes a part that is not known at compile time.
    package mutating func part(word text: StaticString) {
        assert(has(text.utf8CodeUnitCount))
        put(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes the name of a stream without quotes; it needs no escape. Needs no `room`.
    package mutating func part(_ name: FuturesServiceStreamName) {
        name.withUTF8 {
            reserve($0.count)
            put($0)
        }
    }

    /// Writes a decimal number without quotes.
    @inlinable @inline(__always)
    package mutating func part(_ decimal: DecimalString) {
        assert(has(DecimalString.longest))
        count += decimal.write(to: buffer + count)
    }

    /// Writes an integer.
    @inlinable @inline(__always)
    package mutating func part(_ number: Int64) {
        assert(has(DecimalString.longest))
        digits(number.magnitude, isNegative: number < 0)
    }

    /// Writes an integer.
    @inlinable @inline(__always)
    package mutating func part(_ number: UInt64) {
        assert(has(DecimalString.longest))
        digits(number, isNegative: false)
    }

    /// Writes the last part of an element, a member or a value.
    @inlinable @inline(__always)
    package mutating func end(_ text: StaticString) {
        assert(has(text.utf8CodeUnitCount))
        put(text)
        needsComma = true
    }

    /// Writes the last part before a value that other functions write.
    @inlinable @inline(__always)
    package mutating func beforeValue(_ text: StaticString) {
        assert(has(text.utf8CodeUnitCount))
        put(text)
        needsComma = false
    }
}
