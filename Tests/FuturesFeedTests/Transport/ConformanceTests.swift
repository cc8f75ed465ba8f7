import GatewayTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import FuturesFeed

@Suite(.serialized, .timeLimit(.minutes(2)))
struct ConformanceTests {
    @Test func theTableHasEveryFamily() {
        #expect(ConformanceCase.all.count >= 80)
        #expect(Set(ConformanceCase.all.map(\.description)).count == ConformanceCase.all.count)
    }

    @Test(arguments: ConformanceCase.all)
    func theClientActsAsRFC6455Says(_ row: ConformanceCase) async throws {
        try await RawServer.with { server in
            let recorder = Recorder()
            let opening = openWebSocket(to: server, recorder)
            let peer = try await server.accept()
            try await peer.upgrade()
            _ = try await opening.get()

            let bytes = row.bytes()
            for start in stride(from: 0, to: bytes.count, by: row.chop ?? max(bytes.count, 1)) {
                peer.write(Array(bytes[start..<min(start + (row.chop ?? bytes.count), bytes.count)]))
            }
            if case .open = row.end { peer.write(close(1000, "done")) }

            for message in row.messages {
                let event = try await recorder.events.next("message")
                #expect(event == message)
            }
            for pong in row.pongs {
                let sent = try await peer.readFrame()
                #expect(sent == .sent(10, pong))
            }
            let last = try await peer.readFrame()
            #expect(last.opcode == 8)
            let ending = try await recorder.events.next("close")
            switch row.end {
            case .open:
                #expect(last.closeCode == 1000)
                #expect(ending == .closed(code: 1000, reason: "done", error: nil))
            case .failed(let code, let error):
                #expect(last.closeCode == code)
                #expect(ending == .closed(code: UInt16(code), reason: error.rawValue, error: error))
            case .closed(let code, let reason):
                #expect(last.closeCode == code)
                #expect(ending == .closed(code: code.map { UInt16($0) }, reason: reason, error: nil))
            }
            peer.close()
            let rest = try await peer.readToEnd()
            #expect(rest.isEmpty)
            #expect(recorder.events.waiting.isEmpty)
        }
    }
}

/// Begins a connection to a test server on a loop of the singleton group.
func openWebSocket(
    to server: RawServer, _ recorder: Recorder, scheme: String = "ws", host: String = "127.0.0.1", path: String = "/stream?streams=a",
    headers: [(String, String)] = [], subprotocols: [String] = [], limits: WebSocketLimits = WebSocketLimits(), trust: TLSTrust = .system,
    cancellation: ConnectCancellation? = nil
) -> EventLoopFuture<WebSocketConnection> {
    WebSocketConnection.connect(
        to: "\(scheme)://\(host):\(server.port)\(path)", headers: headers, subprotocols: subprotocols, limits: limits,
        on: MultiThreadedEventLoopGroup.singleton.any(), receiver: recorder, trust: trust, cancellation: cancellation)
}
