import FuturesFeed
import Rings
import WebSockets

/// One message of the venue, for the two forms in which its sockets send it. The data are the venue's own bytes.
struct VenueFrame {
    private let name: FuturesServiceStreamName
    private let text: [UInt8]
    private let data: Range<Int>

    /// - Parameter text: A message of a combined stream, as it was received.
    init(_ text: [UInt8], of name: FuturesServiceStreamName) {
        (self.text, self.name) = (text, name)
        data = FuturesDialect.data(of: text) ?? 0..<text.count
    }

    /// The message as a WebSocket frame.
    func bytes(_ format: EventFormat) -> [UInt8] {
        guard format == .combinedFrames else { return ServerFrame.textHead(data.count) + text[data] }
        let (before, after) = (Array(#"{"stream":"\#(name.socketName)","data":"#.utf8), [UInt8(ascii: "}")])
        return ServerFrame.textHead(before.count + data.count + 1) + before + text[data] + after
    }
}
