import FeedCore

/// One message of Hyperliquid's socket, `{"channel":…,"data":…}`.
enum HyperliquidMessage {
    /// Content of a stream: a row for readers, and the venue's time, ms since 1970 UTC; nil if the message has none.
    case content(HyperliquidStream, row: String, time: Int64?)
    /// Trades of one coin, oldest first.
    case trades(HyperliquidStream, [UpstreamTrade])
    /// Bars of one stream, oldest first.
    case bars(HyperliquidStream, [UpstreamBar])
    /// The venue confirms a subscription.
    case subscribed(HyperliquidStream)
    /// Text for people, which may quote a subscription.
    case error(String)
    /// A message that cannot be used, and the stream it belongs to if known.
    case unusable(HyperliquidStream?, String)
    /// A pong, the end of a subscription, or an unknown channel.
    case other

    init(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONReader.Failure) {
        // The first message of a connection, the only one that is not JSON.
        if bytes.isText("Websocket connection established.") {
            self = .other
            return
        }
        var reader = JSONReader(bytes)
        var (channel, data): (String?, UnsafeBufferPointer<UInt8>?)
        try reader.object { (reader, name) throws(JSONReader.Failure) in
            if name.isText("channel"), try reader.peek() == .string { return channel = try reader.string() }
            if name.isText("data") { return data = try reader.raw() }
            try reader.skip()
        }
        try reader.end()
        var value = JSONReader(data ?? bytes)
        if channel == "error" {
            let isText = try value.peek() == .string
            self = .error(isText ? try value.string() : "no reason given")
            return
        }
        if channel == "trades", try value.peek() == .array {
            self = try Self.trades(&value)
            return
        }
        guard let data, let channel, try value.peek() == .object else {
            self = .other
            return
        }
        let members = try JSONMembers(value)
        switch channel {
        case "l2Book": self = Self.prices(.book, "levels", members, data, each: Self.isSide)
        case "bbo": self = Self.prices(.bestPrices, "bbo", members, data, each: Self.isBest)
        case "activeAssetCtx", "activeSpotAssetCtx":
            self = Self.object(members.coin.flatMap { HyperliquidStream(.context, coin: $0) }, "ctx", members, data)
        case "allMids": self = Self.object(HyperliquidStream(.mids, coin: ""), "mids", members, data)
        case "candle": self = Self.candle(members, data)
        case "subscriptionResponse": self = Self.answer(members)
        default: self = .other
        }
    }

    /// Reads an answer of REST: the data of a message with a book or trades, or several bars.
    init(answer data: UnsafeBufferPointer<UInt8>, for stream: HyperliquidStream?) {
        do throws(JSONReader.Failure) {
            var reader = JSONReader(data)
            switch (stream?.channel, try reader.peek()) {
            case (.book?, .object):
                let members = try JSONMembers(reader)
                self = Self.prices(.book, "levels", members, data, each: Self.isSide)
            case (.trades?, .array):
                let read = try Self.trades(&reader).oldestFirst
                if case .other = read, let stream { self = .trades(stream, []) } else { self = read }
            case (.candle?, .array): self = try Self.bars(&reader, of: stream)
            default: self = .unusable(stream, "It has another form than the answers to such a request.")
            }
            // A book was read as a whole.
            if case .content = self {} else { try reader.end() }
        } catch {
            self = .unusable(stream, "It is no JSON: \(error.reason) at byte \(error.offset).")
        }
    }

    /// REST returns the newest trade first, the socket the oldest one. Trades of one time keep their order.
    private var oldestFirst: Self {
        guard case .trades(let stream, let trades) = self, let first = trades.first, let last = trades.last else { return self }
        return .trades(stream, (first.time > last.time ? trades.reversed() : trades).sorted { $0.time < $1.time })
    }

    private static func bars(_ reader: inout JSONReader, of stream: HyperliquidStream?) throws(JSONReader.Failure) -> Self {
        var (bars, fault) = ([UpstreamBar](), Self?.none)
        try reader.array { (reader) throws(JSONReader.Failure) in
            guard try reader.peek() == .object else {
                fault = fault ?? .unusable(stream, "A bar is not an object.")
                return try reader.skip()
            }
            let text = try reader.raw()
            switch candle(try JSONMembers(JSONReader(text)), text) {
            case .bars(stream, let bar): bars += bar
            case .unusable(_, let words): fault = fault ?? .unusable(stream, words)
            default: fault = fault ?? .unusable(stream, "A bar belongs to another stream.")
            }
        }
        guard let stream, fault == nil else { return fault ?? .unusable(stream, "") }
        return .bars(stream, bars.sorted { $0.openTime < $1.openTime })
    }

    private static func content(_ stream: HyperliquidStream, _ data: UnsafeBufferPointer<UInt8>, time: Int64?) -> Self {
        .content(stream, row: String(decoding: data, as: UTF8.self), time: time)
    }

    /// A book, or the best prices: an array of two sides.
    private static func prices(
        _ channel: HyperliquidStream.Channel, _ name: String, _ members: JSONMembers, _ data: UnsafeBufferPointer<UInt8>,
        each isSide: (inout JSONReader) throws(JSONReader.Failure) -> Bool
    ) -> Self {
        let channel = channel == .book && members.text("fast") == "true" ? .fastBook : channel
        guard let stream = members.coin.flatMap({ HyperliquidStream(channel, coin: $0) }) else {
            return .unusable(nil, "A message with \(name) names no coin.")
        }
        guard let time = members.time("time"), let sides = members.elements(name, isSide), sides == 2 else {
            return .unusable(stream, "A message with \(name) of \(stream.coin) lacks its time, a side, a price or a size.")
        }
        return content(stream, data, time: time)
    }

    private static func isSide(_ reader: inout JSONReader) throws(JSONReader.Failure) -> Bool {
        guard try reader.peek() == .array else { return false }
        var areLevels = true
        try reader.array { (reader) throws(JSONReader.Failure) in
            let isLevel = try isLevel(&reader)
            areLevels = areLevels && isLevel
        }
        return areLevels
    }

    /// A side without orders is null.
    private static func isBest(_ reader: inout JSONReader) throws(JSONReader.Failure) -> Bool {
        guard try reader.peek() == .null else { return try isLevel(&reader) }
        try reader.skip()
        return true
    }

    /// Whether the next value is an object with a price and a size.
    private static func isLevel(_ reader: inout JSONReader) throws(JSONReader.Failure) -> Bool {
        let isObject = try reader.peek() == .object
        guard isObject else { return false }
        let level = try JSONMembers(JSONReader(try reader.raw()))
        return level.isDecimal("px") && level.isDecimal("sz")
    }

    /// The first message of each subscription repeats the newest trades. A message without trades is ignored.
    private static func trades(_ reader: inout JSONReader) throws(JSONReader.Failure) -> Self {
        var (coins, trades, areReadable) = (Set<String>(), [UpstreamTrade](), true)
        try reader.array { (reader) throws(JSONReader.Failure) in
            guard try reader.peek() == .object else {
                areReadable = false
                return try reader.skip()
            }
            let text = try reader.raw()
            let members = try JSONMembers(JSONReader(text))
            if let coin = members.coin { coins.insert(coin) }
            guard let id = members.text("tid").flatMap({ UInt64($0) }), let time = members.time("time"), members.isDecimal("px"),
                members.isDecimal("sz"), ["A", "B"].contains((try? members.string("side")) ?? "")
            else { return areReadable = false }
            trades.append(UpstreamTrade(checked: String(decoding: text, as: UTF8.self), id: id, time: time))
        }
        if coins.isEmpty, areReadable { return .other }
        guard coins.count == 1, let stream = coins.first.flatMap({ HyperliquidStream(.trades, coin: $0) }) else {
            return .unusable(nil, "A message with trades names no coin, or several.")
        }
        return areReadable
            ? .trades(stream, trades) : .unusable(stream, "A trade of \(stream.coin) lacks its id, time, side, price or size.")
    }

    private static func object(
        _ stream: HyperliquidStream?, _ name: String, _ members: JSONMembers, _ data: UnsafeBufferPointer<UInt8>
    ) -> Self {
        guard let stream else { return .unusable(nil, "A message with \(name) names no coin.") }
        guard members.text(name)?.first == "{" else { return .unusable(stream, "A message of \(stream.description) has no \(name).") }
        return content(stream, data, time: nil)
    }

    private static func candle(_ members: JSONMembers, _ data: UnsafeBufferPointer<UInt8>) -> Self {
        guard let coin = try? members.string("s"), let interval = try? members.string("i"),
            let stream = HyperliquidStream(.candle(interval[...]), coin: coin)
        else { return .unusable(nil, "A candle names no coin or no interval.") }
        guard ["o", "c", "h", "l", "v"].allSatisfy(members.isDecimal), let start = members.time("t"), let end = members.time("T"),
            let trades = members.text("n").flatMap({ UInt64($0) })
        else { return .unusable(stream, "A candle of \(coin) lacks a price, the volume, a time or the number of its trades.") }
        let row = UpstreamBar(checked: String(decoding: data, as: UTF8.self), openTime: start, closeTime: end, tradeCount: trades)
        return .bars(stream, [row])
    }

    /// The venue adds members to the subscription that it confirms, so only the type, the coin, the interval and the speed are compared.
    private static func answer(_ members: JSONMembers) -> Self {
        guard (try? members.string("method")) == "subscribe", let subscription = try? members.object("subscription") else { return .other }
        let coin = subscription.coin ?? ""
        let stream: HyperliquidStream? =
            switch try? subscription.string("type") {
            case "l2Book": HyperliquidStream(subscription.text("fast") == "true" ? .fastBook : .book, coin: coin)
            case "bbo": HyperliquidStream(.bestPrices, coin: coin)
            case "trades": HyperliquidStream(.trades, coin: coin)
            case "activeAssetCtx": HyperliquidStream(.context, coin: coin)
            case "candle": HyperliquidStream(.candle(((try? subscription.string("interval")) ?? "")[...]), coin: coin)
            case "allMids": HyperliquidStream(.mids, coin: "")
            default: nil
            }
        return stream.map { .subscribed($0) } ?? .other
    }
}

extension JSONMembers {
    fileprivate var coin: String? { (try? string("coin")) ?? nil }

    /// A time in ms since 1970 UTC; nil if it is absent or cannot be one.
    fileprivate func time(_ name: String) -> Int64? { text(name).flatMap { Int64($0) }.flatMap { (1...UTCTime.latest).contains($0) ? $0 : nil } }

    /// Whether the member is a string that holds a decimal.
    fileprivate func isDecimal(_ name: String) -> Bool {
        guard var text = (try? string(name)) ?? nil else { return false }
        return text.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            return (try? reader.number())?.count == bytes.count
        }
    }

    /// The number of elements of an array; nil if the member is no array, or an element is wrong.
    fileprivate func elements(_ name: String, _ isRight: (inout JSONReader) throws(JSONReader.Failure) -> Bool) -> Int? {
        guard var text = text(name), text.first == "[" else { return nil }
        return text.withUTF8 { bytes in
            var reader = JSONReader(bytes)
            var count = 0
            var areRight = true
            do throws(JSONReader.Failure) {
                try reader.array { (reader) throws(JSONReader.Failure) in
                    guard areRight, try isRight(&reader) else {
                        areRight = false
                        return try reader.skip()
                    }
                    count += 1
                }
            } catch { return nil }
            return areRight ? count : nil
        }
    }
}
