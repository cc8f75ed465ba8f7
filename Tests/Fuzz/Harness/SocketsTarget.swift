import FuturesFeed
import WebSockets

@testable import FuturesGateway

/// The bytes from a client of a socket: frames in pieces of any size, and the requests in them.
enum SocketsTarget {
    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, bytes) = input.choice
        let whole = read(bytes, pieces: bytes.count)
        let cut = read(bytes, pieces: Int(choice % 32) + 1)
        promise(whole.events == cut.events && whole.code == cut.code, "frames cut otherwise mean something else")
        guard let target = SocketTarget(["ws"], streams: []) else { return }
        var session = SocketSession(target, maximumStreams: 8, at: Instant.current)
        for case .text(let text) in whole.events { answer(&session, text) }
        answer(&session, Array(bytes))
    }

    private static func answer(_ session: inout SocketSession, _ text: [UInt8]) {
        let answer = session.receive(text)
        promise(StrictJSON.depth(of: answer.text) != nil, "an answer is no JSON text")
        promise(session.names.count <= 8 && Set(session.names).count == session.names.count, "a socket has too many streams")
    }

    private static func read(_ bytes: UnsafeBufferPointer<UInt8>, pieces: Int) -> (events: [ClientFrames.Event], code: UInt16?) {
        var frames = ClientFrames(maximumMessageBytes: 1000)
        var (events, start): ([ClientFrames.Event], Int) = ([], 0)
        while start < bytes.count {
            let end = min(bytes.count, start + max(1, pieces))
            do throws(ClientFrames.Violation) {
                try frames.read(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes[start..<end]))) {
                    events.append($0)
                    return true
                }
            } catch { return (events, error.code) }
            start = end
        }
        return (events, nil)
    }
}
