package import NIOCore

/// The inputs of a client. `link` numbers the connection attempts, so that late input of an old socket is recognized.
package enum ClientInput: Sendable {
    case start
    case stop
    /// The TCP connection is open.
    case opened(link: UInt64)
    /// The TCP connection failed or ended.
    case closed(link: UInt64, NATSError)
    case received(link: UInt64, ServerMessage)
    case deadline
    case subscribe(id: UInt64, subject: String)
    case unsubscribe(id: UInt64)
    case publish(NATSPublication)
    /// A message whose answer is sent to this client's inbox. `publication.reply` is overwritten.
    case request(id: UInt64, NATSPublication, timeout: TimeAmount)
}

/// The effects of a client.
package enum ClientEffect: Sendable {
    case connect(link: UInt64, ServerAddress)
    /// Use TLS from now on. Bytes received before are discarded.
    case secure(link: UInt64, ServerAddress)
    case send(ClientMessage)
    case close(link: UInt64)
    case deliver(NATSMessage)
    case answer(id: UInt64, Result<NATSMessage, NATSError>)
    case connected(ServerInfo)
    /// The connection reported by `connected` has ended.
    case disconnected(NATSError)
    /// A warning: a failed attempt, a forbidden subject, an old server.
    case trouble(NATSError)
}

/// All decisions about the connection to a cluster: which server is next and when, the greeting, subscriptions, requests, silence.
///
/// A value without IO and clock. Subscriptions outlive a connection. Requests do not, because it is unknown whether they were carried out.
package struct ClientCore: Sendable {
    enum Phase: Equatable, Sendable {
        case stopped
        case waiting(until: NIODeadline)
        case connecting(until: NIODeadline)
        case greeting(until: NIODeadline)
        case introduced(until: NIODeadline)
        case ready
    }

    private let settings: ClientSettings
    private let inbox: String
    private(set) var phase = Phase.stopped
    private(set) var link: UInt64 = 0
    private var random: any RandomNumberGenerator & Sendable
    /// The servers in the order of this outage.
    private var order: [ServerAddress] = []
    private var attempts = 0
    /// The server of the current attempt, or of the last one.
    private(set) var server: ServerAddress?
    private var info: ServerInfo?
    /// The server's last error message.
    private var complaint: String?
    private var subjects: [UInt64: String] = [:]
    private var requests: [UInt64: NIODeadline] = [:]
    /// No request times out earlier.
    private var earliestRequest: NIODeadline?
    private var lastHeard = NIODeadline.uptimeNanoseconds(0)
    private var hasPinged = false

    package init(settings: ClientSettings, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.settings = settings
        self.random = random
        inbox = "\(settings.inboxPrefix).\(String(self.random.next(), radix: 36))"
    }

    /// The number of the inbox's subscription; others have higher ones.
    package static let inboxID: UInt64 = 1

    /// When to send the input `deadline`.
    package var deadline: NIODeadline? {
        let phaseEnd: NIODeadline? =
            switch phase {
            case .stopped: nil
            case .waiting(let until), .connecting(let until), .greeting(let until), .introduced(let until): until
            case .ready: lastHeard + settings.silence
            }
        return [phaseEnd, earliestRequest].compactMap(\.self).min()
    }

    /// - Throws: Why a publication would not be sent now.
    package func check(_ publication: NATSPublication) throws(NATSError) {
        guard phase == .ready else { throw phase == .stopped ? .clientStopped : .noConnection }
        try publication.check()
        let limit = min(settings.maximumPayload, info?.maximumPayload ?? .max)
        guard publication.size <= limit else {
            throw NATSError(
                .tooLarge, "A message of \(publication.size) bytes was not sent, because the server accepts at most \(limit): raise its max_payload.")
        }
    }

    package mutating func step(_ input: ClientInput, now: NIODeadline) -> [ClientEffect] {
        var effects: [ClientEffect] = []
        switch input {
        case .start:
            guard phase == .stopped else { break }
            order = settings.servers.shuffled(using: &random)
            attempts = 0
            connect(now, &effects)
        case .stop:
            end(.clientStopped, now, &effects)
            phase = .stopped
        case .opened(let link):
            guard link == self.link, case .connecting(let until) = phase else { break }
            phase = .greeting(until: until)
        case .closed(let link, let error):
            guard link == self.link, isLinked else { break }
            lose(error, now, &effects)
        case .received(let link, let message):
            guard link == self.link else { break }
            (lastHeard, hasPinged) = (now, false)
            receive(message, now, &effects)
        case .deadline: passDeadline(now, &effects)
        case .subscribe(let id, let subject):
            subjects[id] = subject
            if phase == .ready { effects.append(.send(.subscribe(subject: subject, id: id))) }
        case .unsubscribe(let id):
            if subjects.removeValue(forKey: id) != nil, phase == .ready { effects.append(.send(.unsubscribe(id: id))) }
        case .publish(let publication):
            do throws(NATSError) {
                try check(publication)
                effects.append(.send(.publish(publication)))
            } catch { effects.append(.trouble(error)) }
        case .request(let id, var publication, let timeout):
            publication.reply = "\(inbox).\(id)"
            do throws(NATSError) {
                try check(publication)
                requests[id] = now + timeout
                earliestRequest = min(earliestRequest ?? .distantFuture, now + timeout)
                effects.append(.send(.publish(publication)))
            } catch { effects.append(.answer(id: id, .failure(error))) }
        }
        return effects
    }

    /// Whether there is a socket, or will be one.
    private var isLinked: Bool {
        switch phase {
        case .stopped, .waiting: false
        case .connecting, .greeting, .introduced, .ready: true
        }
    }

    private var name: String { server.map(String.init(describing:)) ?? "the server" }

    private mutating func receive(_ message: ServerMessage, _ now: NIODeadline, _ effects: inout [ClientEffect]) {
        switch (message, phase) {
        case (_, .stopped), (_, .waiting), (_, .connecting), (.ok, _): break
        case (.info(let info), .greeting(let until)):
            self.info = info
            introduce(info, until, now, &effects)
        // A server repeats INFO when its cluster changes. A second CONNECT would silently drop all subscriptions.
        case (.info(let info), _): self.info = info
        case (.ping, _): effects.append(.send(.pong))
        case (.pong, .introduced):
            phase = .ready
            attempts = 0
            effects.append(.send(.subscribe(subject: inbox + ".*", id: Self.inboxID)))
            for (id, subject) in subjects.sorted(by: { $0.key < $1.key }) { effects.append(.send(.subscribe(subject: subject, id: id))) }
            if let info { effects.append(.connected(info)) }
        case (.pong, _): break
        case (.error(let text), .ready) where text.lowercased().hasPrefix("permissions violation"):
            effects.append(.trouble(NATSError(.permissionDenied, "The server denied permission: \(text). Extend the user's permissions.")))
        case (.error(let text), _): complaint = text
        case (.message(let message), .ready):
            guard message.subscription == Self.inboxID else { return effects.append(.deliver(message)) }
            guard let id = message.subject.utf8.dropFirst(inbox.utf8.count + 1).decimal(below: .max), requests.removeValue(forKey: UInt64(id)) != nil
            else { return }
            effects.append(.answer(id: UInt64(id), message.headers?.status == 503 ? .failure(.noResponders) : .success(message)))
        case (.message, _): break
        }
    }

    /// Answers the first INFO of a connection, or leaves the server.
    private mutating func introduce(_ info: ServerInfo, _ until: NIODeadline, _ now: NIODeadline, _ effects: inout [ClientEffect]) {
        do throws(NATSError) {
            guard let server else { return }
            if let required = settings.requiredVersion {
                let version = ServerVersion(info.version)
                let message = "\(server) runs nats-server \(version.map(String.init(describing:)) ?? "of an unknown version")"
                guard let version, version >= required else {
                    throw NATSError(.serverTooOld, "\(message), and \(required) is required: update it.")
                }
                if version < .advised {
                    effects.append(.trouble(NATSError(.serverTooOld, "\(message), and \(ServerVersion.advised) is recommended.")))
                }
            }
            let isEncrypted = info.requiresTLS == true || server.wantsTLS
            if isEncrypted {
                guard info.requiresTLS == true || info.offersTLS == true else {
                    throw NATSError(.tlsFailed, "\(server) does not offer TLS: configure TLS on the server, or write nats:// instead of tls://.")
                }
                effects.append(.secure(link: link, server))
            }
            let options = try ConnectOptions(name: settings.name, isEncrypted: isEncrypted, credentials: settings.credentials, nonce: info.nonce)
            phase = .introduced(until: until)
            effects += [.send(.connect(options)), .send(.ping)]
        } catch { lose(error, now, &effects) }
    }

    private mutating func passDeadline(_ now: NIODeadline, _ effects: inout [ClientEffect]) {
        switch phase {
        case .waiting(let until) where until <= now: connect(now, &effects)
        case .connecting(let until) where until <= now, .greeting(let until) where until <= now, .introduced(let until) where until <= now:
            lose(NATSError(.unreachable, "\(name) does not answer: check the address and the network."), now, &effects)
        case .ready where lastHeard + settings.silence <= now:
            if hasPinged {
                let silence = (now - lastHeard + settings.silence).nanoseconds / 1_000_000
                lose(NATSError(.disconnected, "\(name) has been silent for \(silence) ms: check the server and the network."), now, &effects)
            } else {
                hasPinged = true
                lastHeard = now
                effects.append(.send(.ping))
            }
        default: break
        }
        guard let earliestRequest, earliestRequest <= now else { return }
        for (id, _) in requests.filter({ $0.value <= now }).sorted(by: { $0.key < $1.key }) {
            requests[id] = nil
            effects.append(.answer(id: id, .failure(.noAnswer)))
        }
        self.earliestRequest = requests.values.min()
    }

    private mutating func connect(_ now: NIODeadline, _ effects: inout [ClientEffect]) {
        guard !order.isEmpty else {
            return effects.append(.trouble(NATSError(.badConfiguration, "No NATS server is configured: give at least one address.")))
        }
        let server = order[attempts % order.count]
        self.server = server
        link &+= 1
        (info, complaint, hasPinged) = (nil, nil, false)
        phase = .connecting(until: now + settings.connectTimeout)
        effects.append(.connect(link: link, server))
    }

    /// Handles the end of an attempt or a connection: plans the next one.
    private mutating func lose(_ error: NATSError, _ now: NIODeadline, _ effects: inout [ClientEffect]) {
        let wasReady = phase == .ready
        var error = error
        if let complaint { error = NATSError(.refused, "\(name) ended the connection: \(complaint). Check credentials and limits.") }
        end(error, now, &effects)
        if wasReady {
            // The lost server is tried last.
            order = settings.servers.filter { $0 != server }.shuffled(using: &random) + settings.servers.filter { $0 == server }
            attempts = 0
        } else {
            effects.append(.trouble(error))
            attempts = (attempts + 1) % 1_000_000
        }
        let rounds = min(attempts / max(1, order.count), 16)
        let bound = min(settings.lastDelay.nanoseconds, settings.firstDelay.nanoseconds << rounds)
        phase = .waiting(until: now + .nanoseconds(.random(in: 0...max(0, bound), using: &random)))
    }

    private mutating func end(_ error: NATSError, _ now: NIODeadline, _ effects: inout [ClientEffect]) {
        let wasReady = phase == .ready
        if isLinked { effects.append(.close(link: link)) }
        phase = .waiting(until: now)
        guard wasReady else { return }
        for id in requests.keys.sorted() {
            let message = "The connection broke before the answer, so it is unknown whether the request was carried out (\(error.message))"
            effects.append(.answer(id: id, .failure(NATSError(.disconnected, message))))
        }
        (requests, earliestRequest) = ([:], nil)
        effects.append(.disconnected(error))
    }
}

extension NATSError {
    static let clientStopped = NATSError(.stopped, "This NATS client has been stopped.")
    static let noConnection = NATSError(.notConnected, "There is no connection to a NATS server now, so nothing was sent.")
    static let noAnswer = NATSError(.timedOut, "No answer arrived in time, so it is unknown whether the request was carried out.")
    static let noResponders = NATSError(.noResponders, "No service answers on this subject now: check that the stream or the service is running.")
}
