package import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The events of a client besides messages and answers.
package enum NATSEvent: Sendable {
    case connected(ServerInfo)
    case disconnected(NATSError)
    case trouble(NATSError)
}

/// A connection to a cluster of NATS servers, reopened whenever it is lost. It carries out the decisions of `ClientCore`.
///
/// It is used on one event loop: every call must be made there, and every callback occurs there, one at a time and in order.
package final class NATSClient {
    package typealias Answer = (Result<NATSMessage, NATSError>) -> Void

    package let loop: any EventLoop
    private let settings: ClientSettings
    private let listener: (NATSEvent) -> Void
    private var core: ClientCore
    private var effects: [ClientEffect] = []
    private var isPerforming = false
    private var lastID = ClientCore.inboxID
    private var handlers: [UInt64: (NATSMessage) -> Void] = [:]
    private var answers: [UInt64: Answer] = [:]
    private var link: (id: UInt64, channel: any Channel, receiver: LinkReceiver)?
    private var outgoing = ByteBuffer()
    private var isFlushScheduled = false
    private var timer: (at: NIODeadline, task: Scheduled<Void>)?

    /// - Parameter listener: Receives connections and warnings.
    package init(settings: ClientSettings, loop: any EventLoop, listener: @escaping (NATSEvent) -> Void) {
        self.settings = settings
        self.loop = loop
        self.listener = listener
        core = ClientCore(settings: settings)
    }

    /// Connects, and reconnects until `stop`.
    package func start() { step(.start) }

    /// Ends the connection. Pending requests fail.
    package func stop() {
        step(.stop)
        timer?.task.cancel()
        timer = nil
    }

    /// Passes every message of these subjects to `handler`, across reconnects.
    /// - Throws: `badConfiguration` if it is not a subject.
    package func subscribe(_ subject: String, _ handler: @escaping (NATSMessage) -> Void) throws(NATSError) -> UInt64 {
        try NATSPublication.check(subject: subject, wildcards: true)
        let id = nextID()
        handlers[id] = handler
        step(.subscribe(id: id, subject: subject))
        return id
    }

    package func unsubscribe(_ id: UInt64) {
        handlers[id] = nil
        step(.unsubscribe(id: id))
    }

    /// Sends a message to the current listeners; there is no acknowledgment.
    /// - Throws: Why it was not sent.
    package func publish(_ publication: NATSPublication) throws(NATSError) {
        try core.check(publication)
        guard hasRoom else { throw .peerDoesNotRead }
        step(.publish(publication))
    }

    /// Sends a message and calls `answer` once: with the first answer, or with the error.
    package func request(_ publication: NATSPublication, timeout: TimeAmount, _ answer: @escaping Answer) {
        guard hasRoom else { return answer(.failure(.peerDoesNotRead)) }
        let id = nextID()
        answers[id] = answer
        step(.request(id: id, publication, timeout: timeout))
    }

    /// A unique subject for answers to this client.
    package func newInbox() -> String { "\(settings.inboxPrefix).\(String(UInt64.random(in: .min ... .max), radix: 36)).\(nextID())" }

    private var hasRoom: Bool { link?.channel.isWritable ?? true }

    private func nextID() -> UInt64 {
        lastID &+= 1
        return lastID
    }

    fileprivate func step(_ input: ClientInput) {
        loop.assertInEventLoop()
        effects += core.step(input, now: .now())
        guard !isPerforming else { return }
        isPerforming = true
        while !effects.isEmpty {
            let due = effects
            effects = []
            for effect in due { perform(effect) }
        }
        isPerforming = false
        setTimer()
    }

    private func perform(_ effect: ClientEffect) {
        switch effect {
        case .connect(let link, let server): connect(link, server)
        case .secure(let id, let server):
            guard let link, link.id == id else { return }
            secure(link.channel, link.receiver, server)
        case .send(let message):
            message.write(into: &outgoing)
            scheduleFlush()
        case .close(let id):
            outgoing.clear()
            guard let link, link.id == id else { return }
            self.link = nil
            link.channel.close(promise: nil)
        case .deliver(let message): handlers[message.subscription]?(message)
        case .answer(let id, let result): answers.removeValue(forKey: id)?(result)
        case .connected(let info): listener(.connected(info))
        case .disconnected(let error): listener(.disconnected(error))
        case .trouble(let error): listener(.trouble(error))
        }
    }

    /// Everything sent in one turn of the loop is written with one system call.
    private func scheduleFlush() {
        guard !isFlushScheduled else { return }
        isFlushScheduled = true
        loop.assumeIsolated().execute {
            self.isFlushScheduled = false
            guard self.outgoing.readableBytes > 0, let link = self.link else { return }
            link.channel.writeAndFlush(self.outgoing, promise: nil)
            self.outgoing = ByteBuffer()
        }
    }

    private func setTimer() {
        guard let deadline = core.deadline, deadline < timer?.at ?? .distantFuture else { return }
        timer?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.step(.deadline)
        }
        timer = (deadline, task)
    }

    private func connect(_ id: UInt64, _ server: ServerAddress) {
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(settings.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.writeBufferWaterMark, value: .init(low: Self.backlog / 2, high: Self.backlog))
            .channelOption(.autoRead, value: false)
        bootstrap.connect(host: server.host, port: server.port).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                guard case .connecting = self.core.phase, self.core.link == id else { return channel.close(promise: nil) }
                self.adopt(channel, id)
            case .failure(let error):
                self.step(.closed(link: id, NATSError(.unreachable, "Cannot connect to \(server): \(plainWords(error)).")))
            }
        }
    }

    private func adopt(_ channel: any Channel, _ id: UInt64) {
        let receiver = LinkReceiver(client: self, id: id, parser: MessageParser(maximumPayload: 2 * settings.maximumPayload))
        do {
            try channel.pipeline.syncOperations.addHandler(receiver)
            try channel.syncOptions?.setOption(.autoRead, value: true)
            link = (id, channel, receiver)
            step(.opened(link: id))
        } catch {
            channel.close(promise: nil)
            step(.closed(link: id, NATSError(.unreachable, "The connection broke immediately.")))
        }
    }

    private func secure(_ channel: any Channel, _ receiver: LinkReceiver, _ server: ServerAddress) {
        do {
            // Bytes received without TLS after INFO are not from the authenticated server.
            guard receiver.parser.isEmpty else { throw NATSError.violation("unencrypted bytes after requesting TLS") }
            let isAddress = (try? SocketAddress(ipAddress: server.host, port: server.port)) != nil
            let handler = try NIOSSLClientHandler(context: NIOSSLContext(configuration: settings.tls), serverHostname: isAddress ? nil : server.host)
            try channel.pipeline.syncOperations.addHandler(handler, position: .first)
        } catch {
            let failure = error as? NATSError ?? NATSError(.tlsFailed, "TLS cannot be set up for \(server): check the certificates of the settings.")
            step(.closed(link: receiver.id, failure))
        }
    }
}

/// Reads one connection.
private final class LinkReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let id: UInt64
    private(set) var parser: MessageParser
    private let client: NATSClient
    private var error: NATSError?

    init(client: NATSClient, id: UInt64, parser: MessageParser) {
        self.client = client
        self.id = id
        self.parser = parser
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard error == nil else { return }
        parser.append(unwrapInboundIn(data))
        do throws(NATSError) {
            while let message = try parser.next() { client.step(.received(link: id, message)) }
        } catch {
            self.error = error
            client.step(.closed(link: id, error))
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let isTLS = error is NIOSSLError || error is BoringSSLError || error is NIOSSLExtraError
        self.error = self.error ?? NATSError(isTLS ? .tlsFailed : .disconnected, "The connection ended: \(plainWords(error)).")
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        client.step(.closed(link: id, error ?? NATSError(.disconnected, "The server closed the connection.")))
    }
}

extension NATSError {
    fileprivate static let peerDoesNotRead = NATSError(.backlogged, "The server stopped reading, so nothing more was sent: check its disk.")
}

/// The end of a sentence, without type names and error numbers.
private func plainWords(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError: error.connectionErrors.last.map { plainWords($0.error) } ?? "the host name cannot be resolved"
    case let error as IOError: String(cString: strerror(error.errnoCode))
    case ChannelError.connectTimeout: "the server does not answer"
    case is ChannelError, NIOSSLError.uncleanShutdown: "it broke"
    case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: "the TLS handshake failed; check the certificates of both sides"
    default: "it failed"
    }
}
