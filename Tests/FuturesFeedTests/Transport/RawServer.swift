import GatewayTestSupport
import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL

/// A TCP or TLS server on loopback that says exactly the bytes it is told to.
final class RawServer: Sendable {
    private let channel: any Channel
    private let arrivals: Mailbox<RawPeer>
    private let peers: NIOLockedValueBox<[RawPeer]>
    let port: Int

    private init(channel: any Channel, arrivals: Mailbox<RawPeer>) {
        self.channel = channel
        self.arrivals = arrivals
        peers = NIOLockedValueBox([])
        port = channel.localAddress?.port ?? 0
    }

    static func start(host: String = "127.0.0.1", tls: NIOSSLContext? = nil, receiveBuffer: Int? = nil) async throws -> RawServer {
        let arrivals = Mailbox<RawPeer>()
        var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let receiveBuffer { bootstrap = bootstrap.serverChannelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer)) }
        let channel =
            try await bootstrap
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    let peer = RawPeer(channel: channel)
                    try channel.pipeline.syncOperations.addHandler(Inbox(peer: peer))
                    arrivals.post(peer)
                }
            }
            .bind(host: host, port: 0).get()
        return RawServer(channel: channel, arrivals: arrivals)
    }

    /// Runs `body` with a server that is gone, together with its connections, when the body ends.
    static func with<Value: Sendable>(
        host: String = "127.0.0.1", tls: NIOSSLContext? = nil, receiveBuffer: Int? = nil, _ body: (RawServer) async throws -> Value
    ) async throws -> Value {
        let server = try await start(host: host, tls: tls, receiveBuffer: receiveBuffer)
        do {
            let value = try await body(server)
            await server.stop()
            return value
        } catch {
            await server.stop()
            throw error
        }
    }

    func accept() async throws -> RawPeer {
        let peer = try await arrivals.next("a connection")
        peers.withLockedValue { $0.append(peer) }
        return peer
    }

    func stop() async {
        try? await channel.close()
        for peer in peers.withLockedValue({ $0 }) + arrivals.waiting { peer.cut() }
    }
}

/// The server's end of one connection.
final class RawPeer: Sendable {
    enum Chunk: Sendable {
        case bytes([UInt8])
        case end
    }

    struct Ended: Error {}

    private let channel: any Channel
    private let chunks = Mailbox<Chunk>()
    private let unread = NIOLockedValueBox<[UInt8]>([])

    init(channel: any Channel) {
        self.channel = channel
    }

    /// Where the connection begins.
    var address: String? { channel.remoteAddress?.ipAddress }

    func take(_ chunk: Chunk) { chunks.post(chunk) }

    func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    func write(_ text: String) { write(Array(text.utf8)) }

    /// Ends the connection as a well-behaved server does, after what is still to be written.
    func close() { channel.close(promise: nil) }

    /// Ends the connection with a reset.
    func cut() {
        let reset = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        (reset ?? channel.eventLoop.makeSucceededVoidFuture()).whenComplete { _ in self.channel.close(promise: nil) }
    }

    /// Stops reading, so that the client's socket fills up.
    func stopReading() async throws { try await channel.setOption(.autoRead, value: false).get() }

    func startReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    func read(_ count: Int) async throws -> [UInt8] {
        while true {
            let ready: [UInt8]? = unread.withLockedValue {
                guard $0.count >= count else { return nil }
                let bytes = Array($0.prefix(count))
                $0.removeFirst(count)
                return bytes
            }
            if let ready { return ready }
            guard case .bytes(let bytes) = try await chunks.next("\(count) bytes from the client") else { throw Ended() }
            unread.withLockedValue { $0 += bytes }
        }
    }

    /// Reads until the client ends the connection and returns what came before.
    func readToEnd() async throws -> [UInt8] {
        while case .bytes(let bytes) = try await chunks.next("the end of the connection") { unread.withLockedValue { $0 += bytes } }
        return unread.withLockedValue { $0 }
    }

    /// The lines of a request head without the empty one.
    func readHead() async throws -> [String] {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) { head += try await read(1) }
        return String(decoding: head, as: UTF8.self).split(separator: "\r\n").map(String.init)
    }
}

private final class Inbox: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let peer: RawPeer

    init(peer: RawPeer) {
        self.peer = peer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        peer.take(.bytes(Array(buffer: Self.unwrapInboundIn(data))))
    }

    func channelInactive(context: ChannelHandlerContext) { peer.take(.end) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
