import NIOCore
import NIOPosix
import NIOSSL

/// How a connection ended.
package enum ConnectionEnd: Error, Equatable {
    case orderly
    case reset
}

/// A TCP connection to loopback: bytes out, bytes in.
package final class RawConnection: Sendable {
    private let channel: any Channel
    private let received = Mailbox<[UInt8]>()

    /// - Parameters:
    ///   - text: Sent as soon as the connection is open. On a busy machine, a test's next line may run after the server's patience has ended.
    ///   - receiveBuffer: the kernel's buffer in bytes, for readers that are to fill up soon.
    ///   - tls: whether to speak TLS; by default as the tests' route does.
    package init(port: Int, sending text: String? = nil, receiveBuffer: Int? = nil, tls: Bool = StreamRoute.current == .tls) async throws {
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let receiveBuffer { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBuffer)) }
        let received = received
        channel =
            try await bootstrap
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if tls {
                        var trust = TLSConfiguration.makeClientConfiguration()
                        trust.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(TestCertificates.root.utf8)))
                        trust.shutdownTimeout = .milliseconds(1)
                        let context = try NIOSSLContext(configuration: trust)
                        try channel.pipeline.syncOperations.addHandler(try NIOSSLClientHandler(context: context, serverHostname: nil))
                    }
                    try channel.pipeline.syncOperations.addHandler(Receiver(received))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .map { channel in
                if let text { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }
                return channel
            }.get()
    }

    deinit { channel.close(promise: nil) }

    package func send(_ text: String) { send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) {
        channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }

    /// The next bytes; throws `ConnectionEnd` after the last ones.
    package func receive(by deadline: ContinuousClock.Instant, of what: @autoclosure @Sendable () -> String) async throws -> [UInt8] {
        try await received.next(what(), by: deadline)
    }

    /// Whether bytes are taken from the kernel; while not, its buffers fill up.
    package func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
        if isReading { channel.read() }
    }

    package func close() async {
        try? await channel.close()
    }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let received: Mailbox<[UInt8]>

        init(_ received: Mailbox<[UInt8]>) { self.received = received }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { received.post(Array(buffer: Self.unwrapInboundIn(data))) }
        func channelInactive(context: ChannelHandlerContext) { received.end(ConnectionEnd.orderly) }
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            received.end(ConnectionEnd.reset)
            context.close(promise: nil)
        }
    }
}
