/// One message of the binary equities format, version 2: a trade, or one side of the quote.
struct EquitiesMessage: Equatable {
    enum Kind: UInt8 { case trade, ask, bid }

    let kind: Kind
    let symbol: String
    let subprovider: UInt8
    /// One UTF-16 code unit; zero if there is none.
    let marketCenter: UInt16
    let price: Float
    let size: UInt32
    /// Ns since 1970 UTC.
    let timestamp: UInt64
    /// The day's volume; nil for a quote.
    let totalVolume: UInt32?
    let condition: String

    /// Parses a frame: the number of messages, then the messages, each with its length.
    ///
    /// - Returns: The fault if the frame is truncated or its count is wrong; the messages before it are passed on. Messages of unknown types are
    ///   skipped.
    static func read(_ frame: UnsafeBufferPointer<UInt8>, _ emit: (EquitiesMessage) -> Void) -> String? {
        guard let count = frame.first else { return "an empty message" }
        var rest = frame.dropFirst()
        for number in 0..<count {
            guard rest.count >= 2, let length = rest.dropFirst().first, length >= 2, rest.count >= Int(length) else {
                return "message \(number + 1) of \(count) is truncated"
            }
            let bytes = UnsafeBufferPointer(rebasing: rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            guard let kind = Kind(rawValue: bytes[0]) else { continue }
            guard let message = EquitiesMessage(kind, bytes) else { return "message \(number + 1) of \(count) is shorter than its parts" }
            emit(message)
        }
        return nil
    }

    private init?(_ kind: Kind, _ bytes: UnsafeBufferPointer<UInt8>) {
        var fields = Fields(rest: bytes[2...])
        guard let symbol = fields.text(), let subprovider = fields.integer(UInt8.self), let center = fields.integer(UInt16.self),
            let price = fields.integer(UInt32.self), let size = fields.integer(UInt32.self), let timestamp = fields.integer(UInt64.self)
        else { return nil }
        totalVolume = kind == .trade ? fields.integer(UInt32.self) : nil
        guard kind != .trade || totalVolume != nil, let condition = fields.text() else { return nil }
        self.kind = kind
        self.symbol = symbol
        self.subprovider = subprovider
        marketCenter = center
        self.price = Float(bitPattern: price)
        self.size = size
        self.timestamp = timestamp
        self.condition = condition
    }

    /// Little-endian fields, one after the other.
    private struct Fields {
        var rest: Slice<UnsafeBufferPointer<UInt8>>

        mutating func integer<Integer: FixedWidthInteger & UnsignedInteger>(_ type: Integer.Type) -> Integer? {
            let size = Integer.bitWidth / 8
            guard rest.count >= size else { return nil }
            var value: Integer = 0
            for byte in rest.prefix(size).reversed() { value = (size == 1 ? 0 : value << 8) | Integer(byte) }
            rest = rest.dropFirst(size)
            return value
        }

        /// A length and that many ASCII characters.
        mutating func text() -> String? {
            guard let length = integer(UInt8.self), rest.count >= Int(length) else { return nil }
            let bytes = rest.prefix(Int(length))
            rest = rest.dropFirst(Int(length))
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension EquitiesMessage {
    private static let subproviders = ["", "CTA_A", "CTA_B", "UTP", "OTC", "NASDAQ_BASIC", "IEX", "CBOE_ONE", "EQUITIES_EDGE"]

    /// The price as text, rounded to four decimals, because the venue's prices have four and a 32-bit float adds noise. Nil if it is not a number.
    var priceText: String? {
        let tenThousandths = (Double(price) * 10_000).rounded()
        guard let units = Int64(exactly: tenThousandths) else { return nil }
        var fraction = String(units.magnitude % 10_000)
        fraction = String(repeating: "0", count: 4 - fraction.count) + fraction
        while fraction.last == "0" { fraction.removeLast() }
        return (units < 0 ? "-" : "") + String(units.magnitude / 10_000) + (fraction.isEmpty ? "" : "." + fraction)
    }

    private var market: String {
        guard let scalar = Unicode.Scalar(marketCenter), scalar.value > 0x20 else { return "" }
        return String(Character(scalar))
    }

    /// Whether a trade was made off the exchanges.
    private var isDarkPool: Bool {
        switch subprovider {
        case 1, 2, 3: ["", "D", "E"].contains(market)
        case 5: ["", "L", "2"].contains(market)
        default: market.isEmpty
        }
    }

    /// Ms since 1970 UTC.
    var time: Int64 { Int64(timestamp / 1_000_000) }

    /// The message as JSON; nil if the price is not a number.
    var json: String? {
        guard let priceText else { return nil }
        var text = #"{"price":"\#(priceText)","size":\#(size),"time":\#(time),"nanoseconds":"\#(timestamp)""#
        if let totalVolume { text += #","totalVolume":\#(totalVolume),"isDarkPool":\#(isDarkPool)"# }
        if let name = Self.subproviders.indices.contains(Int(subprovider)) ? Self.subproviders[Int(subprovider)] : nil, !name.isEmpty {
            text += #","subprovider":"\#(name)""#
        }
        if !market.isEmpty { text += #","marketCenter":\#(market.quotedAsJSON)"# }
        if !condition.isEmpty { text += #","condition":\#(condition.quotedAsJSON)"# }
        return text + "}"
    }
}
