package import FeedCore

extension FuturesDialect {
    package func decode(_ frame: UnsafeBufferPointer<UInt8>, names: StreamNames, _ emit: (UpstreamEvent) -> Void) {
        if decodePlain(frame, names, emit) { return }
        var envelope = Envelope()
        do throws(JSONReader.Failure) {
            var reader = JSONReader(frame)
            try envelope.read(&reader, names, prefix)
            try reader.end()
        } catch {
            emit(.malformed(envelope.name, "The venue sent a frame that is not JSON: \(error.reason) at byte \(error.offset)."))
            return
        }
        guard let name = envelope.name else {
            emit(envelope.isShutdown ? .goingAway : envelope.unknown.map { .unknown($0) } ?? envelope.control)
            return
        }
        guard let start = envelope.data else {
            emit(.malformed(name, "The venue sent a frame without data for \(name)."))
            return
        }
        do throws(JSONReader.Failure) {
            var reader = JSONReader(frame).reader(at: start)
            var leftOut = LeftOutRows()
            let (rows, eventTime) = try WireRows(name: name).read(&reader, &leftOut)
            if leftOut.count > 0 { emit(.leftOut(name, leftOut)) }
            emit(.rows(name, rows, eventTime: eventTime))
        } catch {
            emit(.malformed(name, "The venue sent data for \(name) that cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }

    /// The rows of a frame as those of another stream that is made of the same messages; nil if they cannot be read.
    func rows(of name: FuturesServiceStreamName, in frame: UnsafeBufferPointer<UInt8>, names: StreamNames) -> FeedRows? {
        var envelope = Envelope()
        var reader = JSONReader(frame)
        guard (try? envelope.read(&reader, names, prefix)) != nil, let start = envelope.data else { return nil }
        reader = JSONReader(frame).reader(at: start)
        var leftOut = LeftOutRows()
        return try? WireRows(name: name).read(&reader, &leftOut).0
    }

    /// A message about a bar as the venue would send it, with its envelope.
    ///
    /// - Parameter eventTime: The time of the message, ms since 1970 UTC.
    package static func message(of name: FuturesServiceStreamName, _ bar: EarlyBar, eventTime: Int64) -> [UInt8] {
        let (symbol, kline) = (name.symbol ?? "", bar.kline)
        var writer = JSONWriter(capacity: 512)
        writer.object { json in
            json.member("stream", name.socketName)
            json.member("data")
            json.object { json in
                json.member("e", "kline")
                json.member("E", eventTime)
                json.member("s", symbol)
                json.member("k")
                json.object { json in
                    json.member("t", kline.openTime)
                    json.member("T", kline.closeTime)
                    json.member("s", symbol)
                    json.member("i", name.interval?.rawValue ?? "")
                    json.member("f", bar.firstTradeID.map { Int64(clamping: $0) } ?? -1)
                    json.member("L", bar.lastTradeID.map { Int64(clamping: $0) } ?? -1)
                    json.member("o", kline.open)
                    json.member("c", kline.close)
                    json.member("h", kline.high)
                    json.member("l", kline.low)
                    json.member("v", kline.volume)
                    json.member("n", kline.tradeCount)
                    json.member("x", kline.isClosed)
                    json.member("q", kline.quoteVolume)
                    json.member("V", kline.takerBuyVolume)
                    json.member("Q", kline.takerBuyQuoteVolume)
                    json.member("B", "0")
                }
            }
        }
        return writer.bytes
    }

    /// Where the data are in a frame of a combined stream; nil if it is none.
    package static func data(of frame: [UInt8]) -> Range<Int>? {
        try? JSONReader.read(frame) { (reader) throws(JSONReader.Failure) in
            var data: Range<Int>?
            try reader.object { (reader, key) throws(JSONReader.Failure) in
                guard key.isText("data") else { return try reader.skip() }
                _ = try reader.peek()
                let start = reader.position
                try reader.skip()
                data = start..<reader.position
            }
            return data
        }
    }

    /// Decodes a frame of a known stream in the venue's usual form: `{"stream":"…","data":…}` without spaces. False for any other or invalid frame,
    /// which must be parsed in full.
    private func decodePlain(_ frame: UnsafeBufferPointer<UInt8>, _ names: StreamNames, _ emit: (UpstreamEvent) -> Void) -> Bool {
        var reader = JSONReader(frame)
        guard (try? reader.open(UInt8(ascii: "{"), UInt8(ascii: "}"))) == true, reader.skip(#""stream":"#), let text = try? reader.rawString(),
            let name = names.name(text), reader.skip(#","data":"#)
        else { return false }
        var leftOut = LeftOutRows()
        guard let (rows, eventTime) = try? WireRows(name: name).read(&reader, &leftOut), reader.skip("}"), reader.remaining == 0 else { return false }
        if leftOut.count > 0 { emit(.leftOut(name, leftOut)) }
        emit(.rows(name, rows, eventTime: eventTime))
        return true
    }
}

/// The envelope of a frame: `{"stream":…,"data":…}`, or an answer to a control message in either of its two error formats.
private struct Envelope {
    var name: FuturesServiceStreamName?
    /// A text that is not a valid name.
    var unknown: String?
    /// The position of the data.
    var data: Int?
    var request: UInt64?
    var hasResult = false
    /// The event of a frame without an envelope.
    var event: String?
    var errorCode: Int?
    var errorMessage = ""

    mutating func read(_ reader: inout JSONReader, _ names: StreamNames, _ prefix: String?) throws(JSONReader.Failure) {
        try reader.object { (reader, key) throws(JSONReader.Failure) in
            switch key.count {
            case 6 where key.isText("stream"): try readName(&reader, names, prefix)
            case 4 where key.isText("data"):
                data = reader.position
                try reader.skip()
            case 2 where key.isText("id"):
                if try reader.peek() == .number { request = try reader.integer() } else { try reader.skip() }
            case 6 where key.isText("result"):
                hasResult = true
                try reader.skip()
            case 1 where key[0] == UInt8(ascii: "e"):
                if try reader.peek() == .string { event = try reader.string() } else { try reader.skip() }
            case 5 where key.isText("event") && event == nil:
                // Binance documents `{"event":{"e":…}}` for events of the connection.
                event = try RESTFields.text("e", in: &reader)
            case 5 where key.isText("error"):
                try reader.object { (reader, key) throws(JSONReader.Failure) in try readError(&reader, key) }
            default: try readError(&reader, key)
            }
        }
    }

    private mutating func readName(_ reader: inout JSONReader, _ names: StreamNames, _ prefix: String?) throws(JSONReader.Failure) {
        let start = reader.position
        unknown = nil
        name = names.name(try reader.rawString())
        guard name == nil else { return }
        var again = reader.reader(at: start)
        let text = try again.string()
        // The prefix is ours; the venue has no colons in names.
        name = text.contains(":") ? nil : FuturesServiceStreamName(text)?.at(venue: prefix)
        if let name { names.remember(name) } else { unknown = text }
    }

    private mutating func readError(_ reader: inout JSONReader, _ key: UnsafeBufferPointer<UInt8>) throws(JSONReader.Failure) {
        if key.isText("code") {
            errorCode = try reader.integer()
        } else if key.isText("msg") {
            errorMessage = try reader.string()
        } else {
            try reader.skip()
        }
    }

    /// The event that announces that the venue will close the connection, and the name of its combined frame.
    private static let shutdown = "serverShutdown"
    var isShutdown: Bool { unknown == "!" + Self.shutdown || event == Self.shutdown }

    var control: UpstreamEvent {
        if let errorCode {
            let message = "The venue refused a request: \(errorMessage) (\(errorCode))."
            return .rejected(request: request, FeedError(.subscriptionRejected, message, venueCode: errorCode))
        }
        if event == Self.shutdown { return .goingAway }
        if hasResult, let request { return .acknowledged(request: request) }
        return .unknown("a frame that is neither data nor an answer")
    }
}
