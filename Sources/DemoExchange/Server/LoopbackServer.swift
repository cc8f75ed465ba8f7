import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Synchronization

/// A simulator's own part of a ``LoopbackServer``. Used on that server's event loop.
protocol LoopbackService: AnyObject, SendableMetatype {
    /// Stops all timers; the server closes the sockets.
    func close()
    /// A handler to put in front of all others of a new connection.
    func firstHandler() -> (any ChannelHandler)?
    /// Headers for the answer that upgrades this request to a WebSocket. If nil, the request handler answers.
    func upgradeHeaders(for request: HTTPRequestHead) -> HTTPHeaders?
    /// Serves the WebSocket that this request opened.
    func socket(for request: HTTPRequestHead) -> (any ChannelHandler)?
    /// A handler that answers the requests of one connection.
    func requestHandler() -> any ChannelHandler & RemovableChannelHandler
}

extension LoopbackService {
    func firstHandler() -> (any ChannelHandler)? { nil }
}

/// Listens for a simulator, upgrades WebSockets, and ends all connections when it stops. May be called from any thread.
final class LoopbackServer<Service: LoopbackService>: Sendable {
    private let loop: any EventLoop
    private let service: NIOLoopBoundBox<Service>
    private let children: NIOLoopBoundBox<[ObjectIdentifier: any Channel]>
    private let listener = Mutex<(any Channel)?>(nil)

    init(_ service: sending Service, loop: any EventLoop) {
        self.loop = loop
        self.service = .makeBoxSendingValue(service, eventLoop: loop)
        children = .makeBoxSendingValue([:], eventLoop: loop)
    }

    /// The bound port; 0 while the server does not listen.
    var port: Int { listener.withLock { $0?.localAddress?.port } ?? 0 }

    func onLoop(_ action: @escaping @Sendable (Service) -> Void) {
        let service = service
        loop.execute { action(service.value) }
    }

    /// Listens, then opens the service. Serves plain HTTP if `tls` is nil.
    ///
    /// - Returns: the bound port.
    /// - Throws: ``DemoExchangeError`` if the address cannot be bound.
    func start(
        host: String, port: Int, tls: NIOSSLContext? = nil, open: @escaping @Sendable (Service) -> Void
    ) async throws(DemoExchangeError) -> Int {
        do {
            let channel = try await bootstrap(tls).bind(host: host, port: port).get()
            let service = service
            try await loop.submit { open(service.value) }.get()
            listener.withLock { $0 = channel }
            return channel.localAddress?.port ?? port
        } catch {
            throw DemoExchangeError(.bind, "\(host):\(port) cannot be bound (\(error)); choose a free port, or 0")
        }
    }

    /// Closes the listening socket and the service, and resets every connection; returns when all are closed.
    func stop() async {
        try? await listener.withLock { $0.take() }?.close()
        let (service, children, loop) = (service, children, loop)
        let gone = loop.flatSubmit {
            service.value.close()
            let channels = Array(children.value.values)
            for channel in channels { channel.reset() }
            return EventLoopFuture.andAllComplete(channels.map(\.closeFuture), on: loop)
        }
        try? await gone.get()
    }

    /// Closes everything without waiting.
    func abandon() {
        listener.withLock { $0.take() }?.close(promise: nil)
        let (service, children) = (service, children)
        loop.execute {
            service.value.close()
            for channel in children.value.values { channel.close(promise: nil) }
        }
    }

    private func bootstrap(_ tls: NIOSSLContext?) -> ServerBootstrap {
        let (service, children) = (service, children)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 1 << 16,
            shouldUpgrade: { channel, head in channel.eventLoop.makeSucceededFuture(service.value.upgradeHeaders(for: head)) },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    if let socket = service.value.socket(for: head) { try channel.pipeline.syncOperations.addHandler(socket) }
                }
            })
        return ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Beyond the high mark a channel is not writable, and the venue disconnects the reader.
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1 << 20, high: 4 << 20))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let key = ObjectIdentifier(channel)
                    children.value[key] = channel
                    channel.closeFuture.whenComplete { _ in children.value[key] = nil }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    if let first = service.value.firstHandler() { try channel.pipeline.syncOperations.addHandler(first) }
                    try Upgrades(upgrader).install(channel.pipeline.syncOperations, service.value.requestHandler())
                }
            }
    }
}

extension Channel {
    /// Closes a socket such that its peer sees a TCP reset.
    func reset() {
        guard let options = self as? any SocketOptionProvider else { return close(promise: nil) }
        let channel = self
        options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in
            // The TLS handler would first send its peer a closing alert.
            if let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) { return tls.close(promise: nil) }
            channel.close(promise: nil)
        }
    }
}
