import Foundation
import Zlib

/// A recording of combined-stream frames, read completely into memory.
struct Recording {
    struct Frame {
        /// Seconds since the first frame.
        let offset: Double
        let stream: String
        /// The frame's original bytes, envelope included.
        let envelope: String
        /// The same bytes without the envelope.
        let payload: String
    }

    private(set) var frames: [Frame] = []
    /// Upper-case symbols in order of appearance, with the decimals of the first price and quantity seen.
    private(set) var symbols: [RecordedSymbol] = []

    init(path: String) throws(DemoExchangeError) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw DemoExchangeError(.recording, "\(path) cannot be read; give the path of a recording")
        }
        guard let plain = data.starts(with: [0x1F, 0x8B]) ? Gunzip.bytes(Array(data)) : Array(data) else {
            throw DemoExchangeError(.recording, "\(path) is damaged or truncated gzip; give a complete file")
        }
        guard let text = String(validating: plain, as: UTF8.self) else {
            throw DemoExchangeError(.recording, "\(path) is not UTF-8 text; give the path of a recording")
        }
        var known: Set<String> = []
        var firstTime: Double?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() where !line.isEmpty {
            if index == 0, line.contains(" <-> ") { continue }
            // A gateway's recording also contains the REST answers that books begin with; they are skipped.
            guard let (time, frame) = try Self.frame(line, path: path, number: index + 1, firstTime: firstTime) else { continue }
            firstTime = firstTime ?? time
            frames.append(frame)
            if let symbol = RecordedSymbol(payload: frame.payload), known.insert(symbol.name).inserted { symbols.append(symbol) }
        }
        guard !frames.isEmpty else { throw DemoExchangeError(.recording, "\(path) has no frames; give the path of a recording") }
    }

    private static func frame(
        _ line: Substring, path: String, number: Int, firstTime: Double?
    ) throws(DemoExchangeError) -> (Double, Frame)? {
        guard let blank = line.firstIndex(of: " "), let time = time(line[..<blank]) else {
            throw malformed(path, number, "a line must be `epoch_seconds: {\"stream\":…,\"data\":…}` or `epoch_nanoseconds {…}`")
        }
        let offset = time - (firstTime ?? time)
        guard offset >= 0 else { throw malformed(path, number, "the time is before the first frame's") }
        let envelope = String(line[line.index(after: blank)...])
        if envelope.hasPrefix("{\"lastUpdateId\":") { return nil }
        guard let value = try? JSONValue(parsing: envelope), let stream = value["stream"]?.string, value["data"] != nil else {
            throw malformed(path, number, "the frame is not a JSON object with `stream` and `data`")
        }
        let opening = #"{"stream":\#(JSONValue.quoted(stream)),"data":"#
        guard envelope.hasPrefix(opening) else { throw malformed(path, number, "`stream` must come first, then `data`, without spaces") }
        return (time, Frame(offset: offset, stream: stream, envelope: envelope, payload: String(envelope.dropFirst(opening.count).dropLast())))
    }

    /// Parses `1626992771.5:` as seconds, and `1626992771500000000` as nanoseconds; returns seconds.
    private static func time(_ text: Substring) -> Double? {
        if text.last == ":" { return Double(text.dropLast()).flatMap { $0.isFinite ? $0 : nil } }
        return Int64(text).map { Double($0) / 1e9 }
    }

    private static func malformed(_ path: String, _ line: Int, _ reason: String) -> DemoExchangeError {
        DemoExchangeError(.recording, "\(path):\(line): \(reason)")
    }
}

/// A symbol of a recording. Its precision is taken from the recorded prices and quantities.
struct RecordedSymbol {
    let name: String
    let pricePrecision: Int
    let quantityPrecision: Int

    /// Nil if the payload is not about a single symbol.
    init?(payload: String) {
        guard let value = try? JSONValue(parsing: payload), let name = (value["s"] ?? value["o"]?["s"])?.string else { return nil }
        self.name = name
        func first(_ side: String) -> [JSONValue]? { value[side]?.array?.first?.array }
        let price = value["p"] ?? value["b"] ?? value["k"]?["o"] ?? value["c"]
        let quantity = value["q"] ?? value["B"] ?? value["k"]?["v"]
        pricePrecision = Self.decimals(price?.string ?? (first("b") ?? first("a"))?.first?.string)
        quantityPrecision = Self.decimals(quantity?.string ?? (first("b") ?? first("a"))?.last?.string)
    }

    private static func decimals(_ text: String?) -> Int {
        guard let text, let point = text.firstIndex(of: ".") else { return 0 }
        return text.distance(from: point, to: text.endIndex) - 1
    }

    var exchangeInfoRow: String {
        let base = name.hasSuffix("USDT") ? String(name.dropLast(4)) : name
        let (tick, step) = (decimal(1, pricePrecision), decimal(1, quantityPrecision))
        return #"{"symbol":"\#(name)","pair":"\#(name)","contractType":"PERPETUAL","deliveryDate":4133404800000,"#
            + #""onboardDate":1569398400000,"status":"TRADING","baseAsset":"\#(base)","quoteAsset":"USDT","marginAsset":"USDT","#
            + #""pricePrecision":\#(pricePrecision),"quantityPrecision":\#(quantityPrecision),"baseAssetPrecision":8,"quotePrecision":8,"#
            + #""underlyingType":"COIN","underlyingSubType":[],"filters":["#
            + #"{"filterType":"PRICE_FILTER","minPrice":"\#(tick)","maxPrice":"1000000","tickSize":"\#(tick)"},"#
            + #"{"filterType":"LOT_SIZE","minQty":"\#(step)","maxQty":"10000000","stepSize":"\#(step)"}],"#
            + #""orderTypes":["LIMIT","MARKET"],"timeInForce":["GTC","IOC","FOK","GTX"]}"#
    }
}
