extension FuturesServiceStreamName: CustomStringConvertible, LosslessStringConvertible {
    /// Parses a venue's stream name, such as `btcusdt@kline_1m` or `!assetIndex@arr`.
    ///
    /// Symbols are lower case in names and have at most 40 bytes of letters of any script, digits and `_`. Nil for anything else. A stream of another
    /// upstream has that upstream's name and a colon in front.
    public init?(_ text: String) {
        if let colon = text.firstIndex(of: ":") {
            let (prefix, stream) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
            guard Self.venues.contains(prefix) else {
                self.init(upstream: prefix, stream: stream)
                return
            }
            guard !stream.contains(":"), let name = Self(stream) else { return nil }
            self = name.at(venue: prefix)
            return
        }
        guard text.utf8.count <= 80 else { return nil }
        let parts = text.split(separator: "@", maxSplits: 3, omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        if text == Channel.tradingSession.rawValue {
            self.init(channel: .tradingSession, symbol: nil)
        } else if first.first == "!" {
            self.init(all: first.dropFirst(), parts.dropFirst())
        } else {
            self.init(symbol: first, parts.dropFirst())
        }
    }

    private init?(all channelText: Substring, _ rest: ArraySlice<Substring>) {
        guard let channel = Channel(rawValue: String(channelText)) else { return nil }
        switch (channel, Array(rest)) {
        case (.bookTicker, []), (.contractInfo, []), (.markets, []), (.assetIndex, ["arr"]), (.miniTicker, ["arr"]), (.ticker, ["arr"]),
            (.markPrice, ["arr"]),
            (.liquidation, ["arr"]), (.funding, ["arr"]):
            self.init(channel: channel, symbol: nil)
        case (.markPrice, ["arr", "1s"]):
            self.init(channel: channel, symbol: nil, speed: .everySecond)
        default:
            return nil
        }
    }

    private init?(symbol: Substring, _ rest: ArraySlice<Substring>) {
        guard Self.isSymbol(symbol), let first = rest.first else { return nil }
        let suffix = Array(rest.dropFirst())
        let kline = first.split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
        if kline.count == 2 {
            guard let channel = Channel(rawValue: String(kline[0])), [.kline, .continuousKline, .longShortRatio, .bar].contains(channel),
                suffix.isEmpty
            else { return nil }
            if channel == .bar {
                guard let length = BarLength(rawValue: String(kline[1])) else { return nil }
                self.init(channel: channel, symbol: String(symbol), barLength: length)
                return
            }
            if channel == .kline, kline[1].hasSuffix(Self.earlySuffix) {
                guard let interval = KlineInterval(rawValue: String(kline[1].dropLast(Self.earlySuffix.count))) else { return nil }
                self.init(channel: .earlyKline, symbol: String(symbol), interval: interval)
                return
            }
            guard let interval = KlineInterval(rawValue: String(kline[1])), channel != .longShortRatio || interval.isOfHistory else { return nil }
            self.init(channel: channel, symbol: String(symbol), interval: interval)
            guard channel != .continuousKline || continuous != nil else { return nil }
            return
        }
        let isPartial = first.count > 5 && first.hasPrefix("depth")
        let levels = isPartial ? DepthLevelCount(rawValue: String(first.dropFirst(5))) : nil
        guard let channel = isPartial ? .partialDepth : Channel(rawValue: String(first)), !Self.unsuited.contains(channel),
            (channel == .partialDepth) == (levels != nil)
        else { return nil }
        switch (channel, suffix) {
        case (.rpiDepth, ["500ms"]): self.init(channel: channel, symbol: String(symbol), speed: .milliseconds500)
        case (.rpiDepth, _): return nil
        case (_, []): self.init(channel: channel, symbol: String(symbol), levels: levels)
        case (.markPrice, ["1s"]): self.init(channel: channel, symbol: String(symbol), speed: .everySecond)
        case (.openInterest, ["10s"]): self.init(channel: channel, symbol: String(symbol), speed: .seconds10)
        case (.openInterest, ["1m"]): self.init(channel: channel, symbol: String(symbol), speed: .everyMinute)
        case (.depth, ["0ms"]): self.init(channel: channel, symbol: String(symbol), speed: .milliseconds0)
        case (.depth, ["100ms"]), (.partialDepth, ["100ms"]):
            self.init(channel: channel, symbol: String(symbol), levels: levels, speed: .milliseconds100)
        case (.depth, ["500ms"]), (.partialDepth, ["500ms"]):
            self.init(channel: channel, symbol: String(symbol), levels: levels, speed: .milliseconds500)
        default: return nil
        }
    }

    static let earlySuffix = "_early"

    /// Channels whose names are not `symbol@channel`.
    private static let unsuited: Set<Channel> = [
        .kline, .earlyKline, .continuousKline, .bar, .longShortRatio, .funding, .contractInfo, .tradingSession, .markets, .upstream,
    ]

    static func text(
        _ channel: Channel, _ symbol: String?, period: String?, _ levels: DepthLevelCount?, _ speed: UpdateSpeed?
    ) -> String {
        let suffix = speed.map { "@" + $0.rawValue } ?? ""
        guard let symbol else {
            return switch channel {
            case .bookTicker, .contractInfo, .markets: "!" + channel.rawValue
            case .tradingSession: channel.rawValue
            default: "!\(channel.rawValue)@arr" + suffix
            }
        }
        let kind =
            switch channel {
            case .kline, .continuousKline, .bar, .longShortRatio: channel.rawValue + "_" + (period ?? "")
            case .earlyKline: "kline_" + (period ?? "") + earlySuffix
            case .partialDepth: "depth" + (levels?.rawValue ?? "")
            default: channel.rawValue
            }
        return String(decoding: symbol.utf8.map(lowercased), as: UTF8.self) + "@" + kind + suffix
    }

    static func isUpstream(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
                default: false
                }
            }
    }

    static func isUpstreamStream(_ text: String) -> Bool {
        (1...100).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !",\"'\\".utf8.contains($0) }
    }

    private static func isSymbol(_ symbol: Substring) -> Bool {
        guard (1...40).contains(symbol.utf8.count) else { return false }
        return symbol.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "0"..."9", "_": true
            case _ where scalar.isASCII: false
            default: scalar.properties.isAlphabetic
            }
        }
    }

    static func uppercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & 0xDF : byte
    }

    static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
