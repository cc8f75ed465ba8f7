import FuturesFeed
import MicroHTTP
import Replication
import Rings
import Tape
import Zlib

/// Lines of a stream's past for one response. The work per response is bounded: if there is more, the response links to it.
struct TapePage {
    private let name: FuturesServiceStreamName
    private let from: Int64?
    private let to: Int64?
    private var cursor: TapeCursor?
    private var lines: TapeLines
    private var body: [UInt8] = []
    private var worked = Duration.zero
    /// The last event that was examined, of any stream.
    private var last: EventID?
    private var isWhole = false

    /// The maximum bytes of lines in a response, except for the last block's lines, and the longest work for one. A sparse stream may need many
    /// responses.
    private static let (mostBytes, longestWork) = (4 << 20, Duration.seconds(1))

    init(
        _ reader: TapeReader, of name: FuturesServiceStreamName, from: Int64?, to: Int64?, after: EventID?
    ) throws(TapeError) {
        (self.name, self.from, self.to) = (name, from, to)
        // The place is found by id, because the clock may have been set back after it.
        cursor =
            if let after { try TapeCursor(reader, following: after, from: from, to: to, isFollowing: false) } else {
                TapeCursor(reader, from: from, to: to)
            }
        lines = TapeLines(stream: name.description, from: from, to: to, after: after, gaps: try reader.gaps())
    }

    /// Continues the work. Returns whether the response is complete; nil if the event in `after` is not on the tape.
    mutating func step(_ isLate: () -> Bool) throws(TapeError) -> Bool? {
        guard cursor != nil else { return nil }
        let began = ContinuousClock.now
        defer { worked += ContinuousClock.now - began }
        while let item = try cursor?.next() {
            body += lines.lines(of: item)
            guard case .messages(let messages, _) = item, let newest = messages.last else { continue }
            last = EventID(epoch: newest.epoch, sequence: newest.first + newest.eventCount - 1)
            if body.count >= Self.mostBytes || worked + (ContinuousClock.now - began) >= Self.longestWork { return true }
            if isLate() { return false }
        }
        body += lines.rest()
        isWhole = true
        return true
    }

    /// The completed response.
    func response(isGzip: Bool) -> HTTPResponse {
        var headers = [
            HTTPHeader(name: "Content-Type", value: EventFormat.lines.contentType), HTTPHeader(name: "Cache-Control", value: "no-store"),
            HTTPHeader(name: "Vary", value: "Accept-Encoding"),
        ]
        if !isWhole, let last {
            let query = [from.map { "from=\($0)" }, "after=\(last)", to.map { "to=\($0)" }].compactMap(\.self).joined(separator: "&")
            headers.append(HTTPHeader(name: "Link", value: "</tape/\(name.description.percentEncoded)?\(query)>; rel=\"next\""))
        }
        var body = body
        if isGzip, body.count > 1024, let compressed = Deflater(level: 4).gzip(body) {
            headers.append(HTTPHeader(name: "Content-Encoding", value: "gzip"))
            body = compressed
        }
        return HTTPResponse(status: 200, headers: headers, body: body)
    }
}
