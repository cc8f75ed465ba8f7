import Glibc
import MicroHTTP
import WebSockets

// A WebSocket server for the Autobahn suite's fuzzing client. It is built from the gateway's own parts, and echoes each message.

/// Echoes every message, answers pings, and closes as the protocol asks.
final class Echo: EventStreamWriter, @unchecked Sendable {
    /// One connection. Like everything here, only the loop's thread uses it.
    private final class Client {
        var frames = ClientFrames(maximumMessageBytes: 64 << 20)
        var unsent: [UInt8] = []
        var isEnding = false
    }

    private var clients: [EventStream: Client] = [:]

    func streamDidOpen(_ stream: EventStream, context: UInt64) { clients[stream] = Client() }
    func streamDidClose(_ stream: EventStream) { clients[stream] = nil }
    func streamDidBecomeWritable(_ stream: EventStream) { if let client = clients[stream] { flush(stream, client) } }
    func streamsDidWake() {}
    func streamsDidTick(now: ContinuousClock.Instant) {}

    func streamDidReceive(_ stream: EventStream, _ bytes: UnsafeRawBufferPointer) {
        guard let client = clients[stream], !client.isEnding else { return }
        do throws(ClientFrames.Violation) {
            try client.frames.read(bytes) { event in
                switch event {
                case .text(let text): client.unsent += ServerFrame.text(text)
                case .binary(let bytes): client.unsent += ServerFrame.binary(bytes)
                case .ping(let payload): client.unsent += ServerFrame.pong(payload)
                case .pong: break
                case .close(let code):
                    client.unsent += ServerFrame.close(code)
                    client.isEnding = true
                }
                return !client.isEnding
            }
        } catch {
            client.unsent += ServerFrame.close(error.code, error.reason)
            client.isEnding = true
        }
        flush(stream, client)
    }

    private func flush(_ stream: EventStream, _ client: Client) {
        let sent = client.unsent.withUnsafeMutableBytes { bytes in
            withUnsafePointer(to: iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)) {
                bytes.isEmpty ? 0 : stream.write(UnsafeBufferPointer(start: $0, count: 1))
            }
        }
        client.unsent.removeFirst(max(0, sent))
        guard client.isEnding, client.unsent.isEmpty else { return }
        clients[stream] = nil
        stream.finish()
    }
}

let loop = EventStreamLoop(writer: Echo())
var router = Router()
router.on("GET", "/") { request, responder in
    do throws(HTTPProblem) {
        responder.openSocket(try WebSocketHandshake(request), loop: loop, context: 0)
    } catch { responder.respond(error.response) }
}
var configuration = HTTPServerConfiguration()
configuration.port = UInt16(CommandLine.arguments.dropFirst().first ?? "") ?? 0
let server = HTTPServer(configuration: configuration, router: router)
print("listening on \(try server.start())")
fflush(nil)
// Until a signal ends the process.
while true { pause() }
