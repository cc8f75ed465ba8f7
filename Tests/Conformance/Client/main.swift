import FuturesFeed
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

// What the Autobahn suite calls a testee: opens every case of a fuzzing server and echoes what it hears, over the gateway's own transport.

guard CommandLine.arguments.count == 3 else {
    print("usage: conformance-client ws://host:port AGENT")
    throw TransportError(.invalidURL, "The fuzzing server's address and a name for the reports are wanted.")
}
let server = CommandLine.arguments[1]
let agent = CommandLine.arguments[2]

/// Echoes every message where it is told to, keeps the last text, and tells of the end.
final class Echo: WebSocketReceiver {
    private let isEchoing: Bool
    private let heard = NIOLockedValueBox("")
    let ended: EventLoopPromise<Void>

    init(isEchoing: Bool, ended: EventLoopPromise<Void>) {
        self.isEchoing = isEchoing
        self.ended = ended
    }

    var text: String { heard.withLockedValue { $0 } }

    func webSocket(_ connection: WebSocketConnection, didReceive text: ByteBuffer) {
        let text = String(buffer: text)
        if isEchoing { connection.send(text: text) } else { heard.withLockedValue { $0 = text } }
    }

    func webSocket(_ connection: WebSocketConnection, didReceiveBinary bytes: ByteBuffer) {
        if isEchoing { connection.send(binary: Array(buffer: bytes)) }
    }

    func webSocketDidHear(_ connection: WebSocketConnection) {}

    func webSocket(_ connection: WebSocketConnection, didClose reason: WebSocketCloseReason) { ended.succeed() }
}

/// Opens one of the server's addresses, stays until the socket is gone, and returns the last text heard where nothing was echoed.
func visit(_ path: String, isEchoing: Bool) async throws -> String {
    let loop = MultiThreadedEventLoopGroup.singleton.any()
    var limits = WebSocketLimits()
    limits.maximumFrameBytes = 32 << 20
    limits.maximumMessageBytes = 32 << 20
    limits.maximumOutboundBytes = 64 << 20
    let echo = Echo(isEchoing: isEchoing, ended: loop.makePromise())
    let opening = WebSocketConnection.connect(to: server + path, limits: limits, on: loop, receiver: echo)
    opening.whenFailure { _ in echo.ended.succeed() }
    let connection = try await opening.get()
    try await echo.ended.futureResult.get()
    try await connection.closeFuture.get()
    return echo.text
}

let count = Int(try await visit("/getCaseCount", isEchoing: false)) ?? 0
for number in 1...max(1, count) {
    do {
        _ = try await visit("/runCase?case=\(number)&agent=\(agent)", isEchoing: true)
    } catch {
        print("case \(number): \(error)")
    }
}
_ = try await visit("/updateReports?agent=\(agent)", isEchoing: false)
print("\(count) cases")
