import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// What a client sees on its WebSocket.
enum Seen: Sendable, Equatable {
    case text(String)
    case ping(String)
    case pong(String)
    case close(UInt16, String)
    /// The socket ended; true where a TCP reset ended it.
    case gone(reset: Bool)
}

struct Unexpected: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A small WebSocket client. As a safety net it ends itself thirty seconds after connecting, so nothing waits for ever.
final class VenueClient: Sendable {
    private let channel: any Channel
    private let seen: AsyncStream<Seen>

    init(port: Int, path: String) async throws {
        let (seen, continuation) = AsyncStream.makeStream(of: Seen.self)
        let result: EventLoopFuture<(any Channel)?> = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let upgrader = NIOTypedWebSocketClientUpgrader<(any Channel)?>(
                        maxFrameSize: 1 << 22,
                        upgradePipelineHandler: { channel, _ in
                            channel.eventLoop.makeCompletedFuture {
                                try channel.pipeline.syncOperations.addHandler(SeenHandler(continuation))
                                return channel
                            }
                        })
                    let headers = HTTPHeaders([("Host", "127.0.0.1:\(port)"), ("Content-Length", "0")])
                    let upgrade = NIOTypedHTTPClientUpgradeConfiguration(
                        upgradeRequestHead: HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers),
                        upgraders: [upgrader],
                        notUpgradingCompletionHandler: { channel in channel.close().map { nil } })
                    var configuration = NIOUpgradableHTTPClientPipelineConfiguration(upgradeConfiguration: upgrade)
                    // The default loses frames that arrive together with the answer to the handshake.
                    configuration.leftOverBytesStrategy = .forwardBytes
                    return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: configuration)
                }
            }
        guard let channel = try await result.get() else { throw Unexpected("\(path) was not upgraded") }
        self.channel = channel
        self.seen = seen
        channel.eventLoop.scheduleTask(in: .seconds(30)) { channel.close(promise: nil) }
    }

    deinit { channel.close(promise: nil) }

    func send(_ text: String) {
        send(.text, ByteBuffer(string: text))
    }

    func send(_ opcode: WebSocketOpcode, _ data: ByteBuffer, fin: Bool = true, masked: Bool = true) {
        channel.writeAndFlush(WebSocketFrame(fin: fin, opcode: opcode, maskKey: masked ? .random() : nil, data: data), promise: nil)
    }

    func stopReading() async throws {
        try await channel.setOption(.autoRead, value: false).get()
    }

    /// The next thing seen, whatever it is.
    func next() async throws -> Seen {
        for await event in seen { return event }
        throw Unexpected("nothing more came on this connection")
    }

    /// The next text frame; anything else is an error.
    func text() async throws -> String {
        let event = try await next()
        guard case .text(let text) = event else { throw Unexpected("expected a text frame, saw \(event)") }
        return text
    }

    /// The next text frame that is no answer to a control message, as JSON.
    func data() async throws -> VenueJSON {
        while true {
            let json = try VenueJSON(await text())
            if json["result"] == nil && json["code"] == nil { return json }
        }
    }

    /// Sends a control message and gives the answer, passing over data that comes before it.
    func ask(_ message: String) async throws -> String {
        send(message)
        while true {
            let text = try await text()
            if text.hasPrefix(#"{"result""#) || text.hasPrefix(#"{"code""#) || text.hasPrefix(#"{"error""#) { return text }
        }
    }
}

private final class SeenHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let seen: AsyncStream<Seen>.Continuation
    private var wasReset = false

    init(_ seen: AsyncStream<Seen>.Continuation) { self.seen = seen }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        var body = frame.data
        switch frame.opcode {
        case .text: seen.yield(.text(String(buffer: body)))
        case .ping: seen.yield(.ping(String(buffer: body)))
        case .pong: seen.yield(.pong(String(buffer: body)))
        case .connectionClose:
            let code = body.readInteger(as: UInt16.self) ?? 1005
            seen.yield(.close(code, String(buffer: body)))
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        wasReset = (error as? IOError)?.errnoCode == ECONNRESET
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        seen.yield(.gone(reset: wasReset))
        seen.finish()
    }
}
