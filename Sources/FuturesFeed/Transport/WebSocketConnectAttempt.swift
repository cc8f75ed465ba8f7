import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// One call of `connect`. It holds the deadline and every socket opened on its behalf, and completes its promise once. Used on its event loop.
final class WebSocketConnectAttempt {
    let request: WebSocketRequest
    let limits: WebSocketLimits
    let receiver: any WebSocketReceiver
    let readTime = ReadTime()
    private let trust: TLSTrust
    private let proxies: ProxySettings
    private let localAddress: String?
    private let promise: EventLoopPromise<WebSocketConnection>
    private let loop: any EventLoop
    private var channels: [any Channel] = []
    private var deadline: Scheduled<Void>?
    private var cancellation: ConnectCancellation?
    private var isFinished = false

    /// The server's response so far, if it is not 101. It is reported instead of a timeout or a lost connection.
    var refusal: TransportError?

    init(
        request: WebSocketRequest, limits: WebSocketLimits, trust: TLSTrust, proxies: ProxySettings, localAddress: String?,
        receiver: any WebSocketReceiver, promise: EventLoopPromise<WebSocketConnection>, loop: any EventLoop
    ) {
        self.request = request
        self.limits = limits
        self.trust = trust
        self.proxies = proxies
        self.localAddress = localAddress
        self.receiver = receiver
        self.promise = promise
        self.loop = loop
    }

    func begin(_ cancellation: ConnectCancellation?) {
        let attempt = NIOLoopBound(self, eventLoop: loop)
        let loop = loop
        self.cancellation = cancellation
        let armed = cancellation?.arm { loop.execute { attempt.value.fail(Self.cancelled) } }
        guard armed ?? true else { return fail(Self.cancelled) }

        let url = request.url
        let tls: NIOSSLContext?
        let proxy: ProxySettings.Server?
        do {
            proxy = try proxies.server(for: url.host, port: url.port, isSecure: url.isSecure)
            tls = request.url.isSecure ? try trust.context() : nil
        } catch {
            return fail(error)
        }
        deadline = loop.assumeIsolated().scheduleTask(in: limits.connectTimeout) { self.failForTime() }

        let (host, port) = proxy.map { ($0.host, $0.port) } ?? (url.host, url.port)
        var bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(limits.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                attempt.value.channels.append(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
        if let localAddress {
            do { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: localAddress, port: 0)) } catch {
                return fail(.init(.connectFailed, "\(localAddress) is not an address of this machine to connect from: give an IPv4 or IPv6 address."))
            }
        }
        let opened =
            if let address = try? SocketAddress(ipAddress: host, port: port) {
                bootstrap.connect(to: address)
            } else {
                bootstrap.connect(host: host, port: port)
            }
        opened.assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel): self.prepare(channel, proxy: proxy, tls: tls)
            case .failure(let error):
                let what = proxy == nil ? "" : "the proxy "
                self.fail(.init(.connectFailed, "Cannot connect to \(what)\(host) port \(port): \(plainWords(error))."))
            }
        }
    }

    func succeed(_ connection: WebSocketConnection) {
        guard finish() else { return }
        promise.succeed(connection)
    }

    func fail(_ error: TransportError) {
        let channels = channels
        guard finish() else { return }
        for channel in channels { channel.cut() }
        promise.fail(error)
    }

    private func failForTime() {
        let seconds = Double(limits.connectTimeout.nanoseconds) / 1e9
        let error = TransportError(
            .timedOut, "No WebSocket to \(request.url.host) port \(request.url.port) within \(seconds) s: check the network or raise the timeout.")
        fail(refusal ?? error)
    }

    private func finish() -> Bool {
        guard !isFinished else { return false }
        isFinished = true
        deadline?.cancel()
        cancellation?.disarm()
        channels = []
        return true
    }

    private func prepare(_ channel: any Channel, proxy: ProxySettings.Server?, tls: NIOSSLContext?) {
        guard !isFinished else { return channel.cut() }
        guard let proxy else { return handshake(on: channel, tls: tls) }
        let url = request.url
        let target = (url.host.contains(":") ? "[\(url.host)]" : url.host) + ":\(url.port)"
        do {
            let tunnel = ProxyTunnelHandler(attempt: self, proxy: proxy, target: target) { self.handshake(on: channel, tls: tls) }
            try ProxyTunnelHandler.install(tunnel, in: channel.pipeline.syncOperations)
            try channel.syncOptions?.setOption(.autoRead, value: true)
        } catch {
            fail(.init(.connectFailed, "Cannot prepare the connection to the proxy \(proxy.host): \(plainWords(error))."))
        }
    }

    private func handshake(on channel: any Channel, tls: NIOSSLContext?) {
        guard !isFinished else { return channel.cut() }
        do {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(readTime)
            if let tls {
                try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: request.url.serverName))
            }
            let encoder = HTTPRequestEncoder()
            var headLimits = NIOHTTPDecoderLimitConfiguration()
            headLimits.maxHeaderListSize = 64 << 10
            let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: headLimits))
            try pipeline.addHandlers(encoder, decoder, WebSocketHandshakeHandler(attempt: self, encoder: encoder, decoder: decoder))
            try channel.syncOptions?.setOption(.autoRead, value: true)
        } catch {
            fail(.init(.connectFailed, "Cannot prepare the connection to \(request.url.host): \(plainWords(error))."))
        }
    }

    private static let cancelled = TransportError(.cancelled, "The connection attempt was cancelled by this side.")
}

extension WebSocketURL {
    /// The name for SNI, which is never an address (RFC 6066 §3). An address is checked against the certificate's IP names instead.
    fileprivate var serverName: String? {
        if (try? SocketAddress(ipAddress: host, port: port)) != nil { return nil }
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}

extension Channel {
    /// Closes the socket immediately, without waiting for the peer's TLS close_notify. Call it on the channel's event loop.
    func cut() {
        if let tls = try? pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self) {
            tls.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }
}
