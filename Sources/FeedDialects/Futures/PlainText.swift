import FeedCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Reads the members of an object in the order and the notation in which the venues send them: each is compared with the expected bytes, and its value
/// goes into the row without a search for the member's name.
///
/// A function returns false or nil if the text differs, also if it is valid JSON. `WireFields` then reads the row from its beginning. No function accepts
/// a value that `WireFields` refuses.
struct PlainText {
    private(set) var place: UnsafePointer<UInt8>
    private let textEnd: UnsafePointer<UInt8>
    /// The stream's symbol; nil for a stream of all symbols.
    private let expectedSymbol: String?

    /// Begins at the reader's position; nil if there is no text.
    init?(_ reader: JSONReader, symbol: String?) {
        guard let start = reader.bytes.baseAddress, reader.remaining > 0 else { return nil }
        place = start + reader.position
        textEnd = start + reader.bytes.count
        expectedSymbol = symbol
    }

    @inline(__always)
    private var count: Int { textEnd - place }

    @inline(__always)
    private mutating func skip(_ bytes: Int) { place += bytes }

    /// Reads exactly these characters.
    @inline(__always)
    mutating func skip(_ text: StaticString) -> Bool {
        guard count >= text.utf8CodeUnitCount, memcmp(place, text.utf8Start, text.utf8CodeUnitCount) == 0 else { return false }
        skip(text.utf8CodeUnitCount)
        return true
    }

    /// Reads a symbol up to its closing quote, which must be that of the stream.
    @inline(__always)
    mutating func symbol() -> String? {
        guard let expectedSymbol else { return anySymbol() }
        var text = expectedSymbol
        let length = text.withUTF8 { symbol in
            guard let start = symbol.baseAddress, count > symbol.count, place[symbol.count] == UInt8(ascii: "\""),
                memcmp(place, start, symbol.count) == 0
            else { return 0 }
            return symbol.count
        }
        guard length > 0 else { return nil }
        skip(length + 1)
        return expectedSymbol
    }

    private mutating func anySymbol() -> String? {
        guard let length = quotedLength(), let symbol = String(short: UnsafeBufferPointer(start: place, count: length)) else { return nil }
        skip(length + 1)
        return symbol
    }

    /// The number of characters before the closing quote, at most 32; nil if there are more.
    private func quotedLength() -> Int? {
        var length = 0
        while length < min(count, 33) {
            if place[length] == UInt8(ascii: "\"") { return length }
            guard place[length] >= 0x20, place[length] != UInt8(ascii: "\\") else { return nil }
            length += 1
        }
        return nil
    }

    /// Reads a decimal number with its quotes.
    @inline(__always)
    mutating func quotedDecimal() -> DecimalString? { skip("\"") ? decimal() : nil }

    /// Reads a decimal number up to its closing quote.
    @inline(__always)
    mutating func decimal() -> DecimalString? {
        var length = 0
        guard count >= 17, let decimal = DecimalString(quotedAt: place, count: &length) else { return longDecimal() }
        skip(length + 1)
        return decimal
    }

    /// The same with a sign, with more than 15 characters, or near the end of the text.
    private mutating func longDecimal() -> DecimalString? {
        guard let length = quotedLength(), let decimal = DecimalString(UnsafeBufferPointer(start: place, count: length)) else { return nil }
        skip(length + 1)
        return decimal
    }

    /// Reads an integer without a sign, of at most 16 digits.
    @inline(__always)
    mutating func integer() -> UInt64? {
        guard count >= 17 else { return shortInteger() }
        let first = EightCharacters(at: place)
        let others = first.others
        if others == 0 {
            let second = EightCharacters(at: place + 8)
            let digits = second.others.trailingZeroBitCount / 8
            guard digits < 8, isEnd(place[8 + digits]), place[0] != UInt8(ascii: "0") else { return nil }
            skip(8 + digits)
            guard digits > 0 else { return first.number(8) }
            return first.number(8) &* UInt64.powersOfTen[digits] &+ second.number(digits)
        }
        let digits = others.trailingZeroBitCount / 8
        guard digits > 0, isEnd(place[digits]), digits == 1 || place[0] != UInt8(ascii: "0") else { return nil }
        skip(digits)
        return first.number(digits)
    }

    /// The same near the end of the text.
    private mutating func shortInteger() -> UInt64? {
        var (value, digits): (UInt64, Int) = (0, 0)
        if count >= 8 {
            let first = EightCharacters(at: place)
            if first.others == 0 {
                (value, digits) = (first.number(8), 8)
                if count > 8 {
                    // The characters behind the first eight, and behind them zeros, which are no digits.
                    let second = EightCharacters(bits: EightCharacters(at: place + (count - 8)).bits &>> UInt64((16 - count) * 8))
                    let more = second.others.trailingZeroBitCount / 8
                    if more > 0 { (value, digits) = (value &* UInt64.powersOfTen[more] &+ second.number(more), 8 + more) }
                }
            }
        }
        while digits < min(count, 16), place[digits] &- UInt8(ascii: "0") < 10 {
            value = value &* 10 &+ UInt64(place[digits] &- UInt8(ascii: "0"))
            digits += 1
        }
        guard digits > 0, digits < count, isEnd(place[digits]), digits == 1 || place[0] != UInt8(ascii: "0") else { return nil }
        skip(digits)
        return value
    }

    @inline(__always)
    private func isEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") }

    /// Reads a time, ms since 1970 UTC.
    @inline(__always)
    mutating func time() -> Int64? { integer().map { Int64(bitPattern: $0) } }

    /// Reads `true` or `false`.
    @inline(__always)
    mutating func flag() -> Bool? { skip("true") ? true : skip("false") ? false : nil }

    /// Reads the levels of one side of a book up to the closing bracket.
    mutating func levels() -> [PriceLevel]? {
        if skip("]") { return [] }
        var levels: [PriceLevel] = []
        levels.reserveCapacity(min(count / PriceLevel.leastBytes, 1000) + 1)
        repeat {
            guard let level = level() else { return nil }
            levels.append(level)
        } while skip(",")
        return skip("]") ? levels : nil
    }

    /// Reads one level.
    @inline(__always)
    mutating func level() -> PriceLevel? {
        guard let (level, length) = count >= PriceLevel.plainRoom ? PriceLevel.read(plainAt: place) : lastLevel() else { return nil }
        skip(length)
        return level
    }

    /// The next level if less text follows than its reading function may read.
    private func lastLevel() -> (level: PriceLevel, length: Int)? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: PriceLevel.plainRoom) { copy -> (level: PriceLevel, length: Int)? in
            guard let start = copy.baseAddress, count <= copy.count else { return nil }
            copy.initialize(repeating: 0)
            start.update(from: place, count: count)
            // Zeros end no level, so it cannot be longer than the text.
            return PriceLevel.read(plainAt: start)
        }
    }

    /// Reads the pair, which Binance sends after the symbol, if it comes next. False if it cannot be read.
    @inline(__always)
    mutating func skipPair() -> Bool { !skip(#","ps":""#) || skipText() }

    /// The same for the average price, which Binance sends after the funding rate.
    @inline(__always)
    mutating func skipAverage() -> Bool { !skip(#","ap":""#) || skipText() }

    private mutating func skipText() -> Bool {
        guard let length = quotedLength() else { return false }
        skip(length + 1)
        return true
    }

    /// Reads the end of the row, before which Binance sends the type of the contract.
    @inline(__always)
    mutating func end() -> Bool {
        if skip("}") { return true }
        return skip(#","st":"#) && integer() != nil && skip("}")
    }
}
