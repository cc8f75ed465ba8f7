import DequeModule
import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings
import WebSockets

/// The venue's own sockets: the streams that each reads, and when it must be closed because its client could use old data as current.
extension EventHub {
    /// Checks the limits for a new socket, registers it and returns its number. The caller must then call `open` or `closed`.
    func prepare(_ target: SocketTarget, for caller: Access.Caller) throws(Refusal) -> UInt64 {
        var session = SocketSession(target, maximumStreams: limits.streamsPerClient, at: Instant.current)
        let names = served(session.names, session.upstream)
        let number = try prepare(streams: names, ConnectionOptions(socket: session.format), for: caller)
        guard let connection = state.value.readers[number] else { return number }
        begin(names, from: connection.lease.address)
        connection.streams = known(names)
        session.omitNames(of: connection.streams)
        retain(connection.streams)
        joinSockets(connection.streams)
        watchUnserved(session, connection)
        // The client may fetch an order book before the socket is open here. The messages after the book must reach it.
        connection.begin(session, firstMessages(of: connection.streams, session.format), behind: state.value.lastMessage)
        return number
    }

    /// The first messages of a socket: those of the moment at which it was prepared, and the ones since.
    func start(_ connection: Reader) -> Opening {
        let start = connection.takeStart()
        let behind = start?.behind ?? state.value.lastMessage
        return opening(connection, resume: .after(behind, of: StreamSet(connection.streams)), values: start?.values ?? [])
    }

    /// The streams with these names that the venue's sockets have: none that the gateway polls, or builds from trades. With early bars, it is their stream. Other names are accepted, but
    /// nothing is sent for them, as at the venue.
    private func served(_ names: [String], _ upstream: Int) -> [FuturesServiceStreamName] {
        let prefix = prefix(of: upstream)
        return names.compactMap { text in
            guard let local = FuturesServiceStreamName(text), local.description == text, local.prefix == nil else { return nil }
            let name = local.at(venue: prefix)
            guard isSentByVenue(name) else { return nil }
            guard !feed.knows(name) else { return limits.sockets.closesBarsEarly ? name.early ?? name : name }
            feed.refreshListing(of: upstream)
            return nil
        }
    }

    /// Whether the sockets of a venue have the stream: the gateway neither polls it nor builds it from trades.
    func isSentByVenue(_ name: FuturesServiceStreamName) -> Bool {
        feed.dialect.traits(of: name).map { !$0.isPolled } == true && name.channel != .bar && name.channel != .earlyKline
    }

    /// The prefix of a venue's streams; nil for the first one.
    private func prefix(of upstream: Int) -> String? { upstream == 0 ? nil : feed.dialect.upstreams[upstream].name }

    /// Answers a message of a socket's client, after the messages that arrived before it.
    func socketReceived(_ number: UInt64, _ text: [UInt8]) {
        state.value.socketRequests.append((number, text))
        if state.value.socketRequests.count == 1 { answerSockets() }
    }

    private func answerSockets() {
        // A message that is on its way to the rings would be sent twice.
        while feed.hasToldAll, let (number, text) = state.value.socketRequests.popFirst() { answer(number, text) }
        if !state.value.socketRequests.isEmpty { run { $0.answerSockets() } }
    }

    private func answer(_ number: UInt64, _ text: [UInt8]) {
        guard let connection = state.value.readers[number], connection.isOpen, var session = connection.socket else { return }
        guard gatekeeper.takeRequest(by: connection.holder.principal, from: connection.lease.address, at: Access.now) else {
            return end(number, code: "limit", reason: "Too many requests of your address or key in this second.")
        }
        session.restoreNames(of: connection.streams)
        let answer = session.receive(text)
        func send(_ answer: SocketSession.Answer) { rings.post(.send(ServerFrame.text(answer.text)), to: number) }
        if case .subscribe(let names) = answer.effect {
            let before = prefix(of: session.upstream).map { $0 + ":" } ?? ""
            if let forbidden = names.first(where: { !connection.holder.principal.permission.allows(stream: before + $0) }) {
                return send(session.error(.invalidRequest, "Invalid request: your key does not permit \(forbidden)", id: answer.id))
            }
            let gained = served(names, session.upstream)
            if let problem = refusal(of: gained, to: connection) { return send(session.error(.tooMany, problem, id: answer.id)) }
            connection.socket = session
            // At a node of a cluster, the messages begin a moment later. A client may fetch a snapshot when it has the answer, and joins the two.
            feed.whenPassingOn(gained) { send(answer) }
            subscribe(connection, gained)
            return watchUnserved(session, connection)
        }
        connection.socket = session
        // The effect comes first: a client expects that it applies to every message after the answer.
        switch answer.effect {
        case .nothing, .subscribe: break
        case .unsubscribe(let names): unsubscribe(connection, connection.streams.filter { names.contains($0.socketName) })
        case .reformat: reformat(connection, session.format)
        }
        send(answer)
        if answer.closes { end(number, code: "limit", reason: "Too many subscriptions.") }
    }

    /// Why a socket may not have these streams; nil if it may.
    private func refusal(of names: [FuturesServiceStreamName], to connection: Reader) -> String? {
        do throws(Refusal) { try checkRoom(for: names, from: connection.lease.address) } catch {
            return EventHandlers.problem(error).detail ?? "The gateway has no room for another stream"
        }
        do throws(LimitReached) { try gatekeeper.add(streams: names.count, to: connection.lease, of: connection.holder.principal) } catch {
            return Problems.limited(error).detail ?? "The limit of streams is reached"
        }
        return nil
    }

    private func subscribe(_ connection: Reader, _ names: [FuturesServiceStreamName]) {
        guard !names.isEmpty else { return }
        begin(names, from: connection.lease.address)
        connection.streams += known(names)
        rings.post(.subscribe(firstMessages(of: names, connection.options.format), head: feed.head), to: connection.number)
        retain(names)
        joinSockets(names)
    }

    private func unsubscribe(_ connection: Reader, _ names: [FuturesServiceStreamName]) {
        guard !names.isEmpty else { return }
        connection.streams.removeAll(where: names.contains)
        gatekeeper.remove(streams: names.count, from: connection.lease)
        rings.post(.unsubscribe(names.compactMap { state.value.streams[$0]?.rings[connection.options.format.rawValue] }), to: connection.number)
        leaveSockets(names)
        release(names)
    }

    private func reformat(_ connection: Reader, _ format: EventFormat) {
        let old = connection.options.format
        connection.options.format = format
        let pairs = connection.streams.compactMap { name in
            state.value.streams[name]?.rings[old.rawValue].map { (old: $0, new: ring(of: name, format)) }
        }
        rings.post(.reformat(format, pairs), to: connection.number)
    }

    /// The rings of these streams, each with the message that a socket gets first: of an order book, the one that brought it to its current update. With
    /// it, a client that fetches the book before the next message can join the two.
    func firstMessages(of names: [FuturesServiceStreamName], _ format: EventFormat) -> [CachedValue] {
        names.map { name in
            let ring = ring(of: name, format)
            guard name.mergeRule == .book, let text = feed.newestMessage(of: name) else { return CachedValue(ring: ring, body: nil) }
            return CachedValue(ring: ring, body: VenueFrame(text, of: name).bytes(format))
        }
    }

    /// Counts one more socket of each stream. The first one has the venue's messages passed on.
    func joinSockets(_ names: [FuturesServiceStreamName]) {
        for name in names {
            guard let stream = state.value.streams[name] else { continue }
            stream.sockets += 1
            guard stream.sockets == 1 else { continue }
            stream.patience = SocketPatience()
            if !stream.areMessagesTaped { feed.step(.passOn(name, true)) }
            // The venue's `depth` is now answered from this book, if it is the newest.
            if name.channel == .depth { for book in Self.books(like: name) { forgetAnswers(book) } }
        }
        beginWatch()
    }

    private func beginWatch() {
        guard state.value.socketWatch == nil else { return }
        let second = TimeAmount.seconds(1)
        state.value.socketWatch = feed.loop.scheduleRepeatedTask(initialDelay: second, delay: second) { _ in self.watchSockets() }
    }

    /// Remembers a socket with a name that no stream has. The venue may list its symbol later, and then sends its messages.
    private func watchUnserved(_ session: SocketSession, _ connection: Reader) {
        guard session.names.count > connection.streams.count else { return }
        state.value.unservedSockets.insert(connection.number)
        beginWatch()
    }

    /// Serves the names that have become streams since the venue's list changed.
    private func serveUnserved() {
        guard feed.hasToldAll, !state.value.unservedSockets.isEmpty else { return }
        let venues = feed.dialect.upstreams.indices.filter { feed.dialect.upstreams[$0].venue != nil }
        for upstream in venues { feed.refreshListing(of: upstream) }
        let symbols = venues.map { feed.listing(of: $0)?.symbols ?? [] }
        let isNew = symbols != state.value.servedSymbols
        state.value.servedSymbols = symbols
        for number in state.value.unservedSockets {
            guard let connection = state.value.readers[number], let session = connection.socket, session.names.count > connection.streams.count else {
                state.value.unservedSockets.remove(number)
                continue
            }
            guard isNew, connection.isOpen else { continue }
            let had = Set(connection.streams.map(\.socketName))
            let gained = served(session.names.filter { !had.contains($0) }, session.upstream)
            if !gained.isEmpty, refusal(of: gained, to: connection) == nil { subscribe(connection, gained) }
        }
    }

    /// Counts one socket less of each stream. After the last one, its messages are neither passed on nor kept.
    func leaveSockets(_ names: [FuturesServiceStreamName]) {
        for name in names {
            guard let stream = state.value.streams[name], stream.sockets > 0 else { continue }
            stream.sockets -= 1
            guard stream.sockets == 0 else { continue }
            if !stream.areMessagesTaped { feed.step(.passOn(name, false)) }
            for format in [EventFormat.frames, .combinedFrames] {
                if let ring = stream.rings[format.rawValue] { rings.remove(ring) }
                stream.rings[format.rawValue] = nil
            }
        }
    }

    /// The order books of a stream's symbol at its venue, the fastest first.
    static func books(like name: FuturesServiceStreamName) -> [FuturesServiceStreamName] {
        guard let symbol = name.symbol else { return [] }
        let venue = name.prefix.map(String.init)
        return [.milliseconds0, .milliseconds100, nil, .milliseconds500].map { .depth(symbol: symbol, speed: $0).at(venue: venue) }
    }

    /// The fastest book of a symbol that sockets read; nil if there is none. The venue's `depth` is answered from it, so that an answer is not older than
    /// the messages that a socket has sent. A book that is not live sends none, so a live one comes first.
    func bookOfSockets(like name: FuturesServiceStreamName) -> FuturesServiceStreamName? {
        let books = Self.books(like: name).filter { state.value.streams[$0].map { $0.sockets > 0 } == true }
        return books.first { feed.status(of: $0)?.state == .live } ?? books.first
    }

    /// The fastest live book of a symbol that the feed follows; nil if there is none. A client that opens a socket later may read it, and gets the
    /// message that brought the book to its update. A book that a snapshot brought there has none.
    func fastestBook(like name: FuturesServiceStreamName) -> FuturesServiceStreamName? {
        Self.books(like: name).first { feed.status(of: $0)?.state == .live && feed.newestMessage(of: $0) != nil }
    }

    /// Whether the messages of every book of a symbol that sockets read have begun. An answer before that could not be joined with the first message of
    /// a book that is still being built. A book that has been late for two seconds is not waited for.
    func haveBooksBegun(like name: FuturesServiceStreamName) -> Bool {
        let now = Instant.current
        return Self.books(like: name).allSatisfy { name in
            guard let stream = state.value.streams[name], stream.sockets > 0 else { return true }
            if stream.patience.isExhausted(.seconds(2), at: now) { return true }
            return feed.status(of: name)?.state == .live && feed.passesMessagesOn(name)
        }
    }

    /// How many streams all sockets together read, each counted once per socket.
    var subscriptionsOfSockets: Int { state.value.streams.names.reduce(0) { $0 + (state.value.streams[$1]?.sockets ?? 0) } }

    func receive(_ message: VenueMessage) {
        guard let stream = state.value.streams[message.stream] else { return }
        if stream.areMessagesTaped { state.value.tape?.record(message, feed) }
        guard stream.sockets > 0 else { return }
        guard let text = message.text else {
            return endSockets(of: [message.stream], code: "lost") { "Messages of \($0) are missing." }
        }
        let frame = VenueFrame(text, of: message.stream)
        let now = Instant.current.nanoseconds
        state.value.lastMessage &+= 1
        for format in [EventFormat.frames, .combinedFrames] {
            guard let ring = stream.rings[format.rawValue] else { continue }
            rings.append(ring, message: frame.bytes(format), number: state.value.lastMessage, receivedAt: now)
        }
    }

    private func endSockets(
        of names: Set<FuturesServiceStreamName>, before instant: Instant? = nil, code: String, reason: (FuturesServiceStreamName) -> String
    ) {
        for connection in state.value.readers.all {
            guard let socket = connection.socket, instant.map({ socket.openedAt <= $0 }) ?? true,
                let name = connection.streams.first(where: names.contains)
            else { continue }
            // A socket that is not open yet has no message. It begins after the loss.
            guard connection.isOpen else {
                connection.begin(socket, firstMessages(of: connection.streams, connection.options.format), behind: state.value.lastMessage)
                continue
            }
            end(connection.number, code: code, reason: reason(name))
        }
    }

    /// Closes the sockets of streams that had no current data for too long.
    func watchSockets(at now: Instant = Instant.current) {
        var late: Set<FuturesServiceStreamName> = []
        var isRead = false
        for name in state.value.streams.names {
            guard let stream = state.value.streams[name], stream.sockets > 0 else { continue }
            isRead = true
            stream.patience.observe(feed.status(of: name)?.state, isQuiet: isQuiet(name), at: now)
            if stream.patience.isExhausted(limits.sockets.patience, at: now) { late.insert(name) }
        }
        if !late.isEmpty {
            endSockets(of: late, before: now + .nanoseconds(-limits.sockets.patience.nanoseconds), code: "stale") { "\($0) has no current data." }
        }
        serveUnserved()
        guard !isRead, state.value.unservedSockets.isEmpty else { return }
        state.value.socketWatch?.cancel()
        state.value.socketWatch = nil
    }
}
