package import FeedCore

extension FuturesDialect {
    package func decode(_ frame: UnsafeBufferPointer<UInt8>, _ emit: (UpstreamEvent) -> Void) {
        var envelope = Envelope()
        do throws(JSONReader.Failure) {
            var reader = JSONReader(frame)
            try envelope.read(&reader)
            try reader.end()
        } catch {
            emit(.malformed(envelope.name, "The venue sent a frame that is not JSON: \(error.reason) at byte \(error.offset)."))
            return
        }
        guard let text = envelope.stream else {
            emit(envelope.control)
            return
        }
        guard let name = envelope.name else {
            emit(.unknown(text))
            return
        }
        guard let start = envelope.data else {
            emit(.malformed(name, "The venue sent a frame without data for \(name)."))
            return
        }
        do throws(JSONReader.Failure) {
            var reader = JSONReader(frame).reader(at: start)
            let (rows, eventTime) = try WireRows(name: name).read(&reader)
            emit(.rows(name, rows, eventTime: eventTime))
        } catch {
            emit(.malformed(name, "The venue sent data for \(name) that cannot be read: \(error.reason) at byte \(error.offset)."))
        }
    }
}

/// The outside of a frame: `{"stream":…,"data":…}`, or an answer to a control message in either of its two error shapes.
private struct Envelope {
    var stream: String?
    /// Where the data begin.
    var data: Int?
    var request: UInt64?
    var hasResult = false
    /// The event of a frame without an envelope.
    var event: String?
    var errorCode: Int?
    var errorMessage = ""

    var name: FuturesServiceStreamName? { stream.flatMap { FuturesServiceStreamName($0) } }

    mutating func read(_ reader: inout JSONReader) throws(JSONReader.Failure) {
        var envelope = self
        defer { self = envelope }
        try reader.object { (reader, key) throws(JSONReader.Failure) in
            switch key.count {
            case 6 where key.elementsEqual("stream".utf8): envelope.stream = try reader.string()
            case 4 where key.elementsEqual("data".utf8):
                envelope.data = reader.position
                try reader.skip()
            case 2 where key.elementsEqual("id".utf8):
                if try reader.peek() == .number { envelope.request = try reader.integer() } else { try reader.skip() }
            case 6 where key.elementsEqual("result".utf8):
                envelope.hasResult = true
                try reader.skip()
            case 1 where key[0] == UInt8(ascii: "e"):
                if try reader.peek() == .string { envelope.event = try reader.string() } else { try reader.skip() }
            case 5 where key.elementsEqual("error".utf8):
                try reader.object { (reader, key) throws(JSONReader.Failure) in try envelope.readError(&reader, key) }
            default: try envelope.readError(&reader, key)
            }
        }
    }

    private mutating func readError(_ reader: inout JSONReader, _ key: UnsafeBufferPointer<UInt8>) throws(JSONReader.Failure) {
        if key.elementsEqual("code".utf8) {
            errorCode = try reader.integer()
        } else if key.elementsEqual("msg".utf8) {
            errorMessage = try reader.string()
        } else {
            try reader.skip()
        }
    }

    var control: UpstreamEvent {
        if let errorCode {
            let message = "The venue refused a request: \(errorMessage) (\(errorCode))."
            return .rejected(request: request, FeedError(.subscriptionRejected, message, venueCode: errorCode))
        }
        if event == "serverShutdown" { return .goingAway }
        if hasResult, let request { return .acknowledged(request: request) }
        return .unknown("a frame that is neither data nor an answer")
    }
}
