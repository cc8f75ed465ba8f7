import FuturesFeed
import GatewayAccess
import NIOCore
import Rings

/// The hub's state of an event connection. Used only on the feed's thread.
final class Reader {
    let number: UInt64
    /// The principal that opened the connection controls it under this id.
    let id: ReaderID
    var streams: [FuturesServiceStreamName]
    /// The names that a permission must allow. A socket has asked for the venue's streams, also where its bars are closed early.
    var permissionNames: [String] { streams.map { socket == nil ? $0.description : $0.venueName } }
    var options: ConnectionOptions
    fileprivate(set) var holder: Readers.Holder
    /// Its share of the limits.
    let lease: Gatekeeper.Lease
    /// Whether its response head has been sent.
    var isOpen = false
    /// Whether it receives a replay.
    var isReplaying = false
    /// Whether its replay has an end, so that it never reads live events and its streams need no feed.
    var isOfThePast: Bool { options.replay?.end != nil }
    /// Nil until needed, because most readers only read.
    private var rare: RareState?
    private var socketState: SocketState?

    /// State needed only by readers that pause streams, or whose credential expires.
    private final class RareState {
        var paused: Set<FuturesServiceStreamName> = []
        var expiry: Scheduled<Void>?
        var controlRequests = TokenBucket()
    }

    /// The state of a socket, which most keep for hours without sending a message. So it is as small as possible.
    private final class SocketState {
        var session: SocketSession
        var start: SocketStart?

        init(_ session: SocketSession, _ start: SocketStart) { (self.session, self.start) = (session, start) }
    }

    fileprivate init(
        _ number: UInt64, id: ReaderID, streams: [FuturesServiceStreamName], options: ConnectionOptions, holder: Readers.Holder,
        lease: Gatekeeper.Lease
    ) {
        self.number = number
        self.id = id
        self.streams = streams
        self.options = options
        self.holder = holder
        self.lease = lease
    }

    private var begun: RareState {
        if let rare { return rare }
        let new = RareState()
        rare = new
        return new
    }

    fileprivate(set) var paused: Set<FuturesServiceStreamName> {
        get { rare?.paused ?? [] }
        set { if newValue != paused { begun.paused = newValue } }
    }

    /// The subscriptions of a socket; nil for an event stream.
    var socket: SocketSession? {
        get { socketState?.session }
        set { if let newValue { socketState?.session = newValue } }
    }

    /// The messages with which a socket starts, and the number of the newest message at that moment.
    final class SocketStart {
        let values: [CachedValue]
        let behind: UInt64

        fileprivate init(_ values: [CachedValue], behind: UInt64) { (self.values, self.behind) = (values, behind) }
    }

    /// Makes it a socket.
    func begin(_ session: SocketSession, _ values: [CachedValue], behind number: UInt64) {
        socketState = SocketState(session, SocketStart(values, behind: number))
    }

    /// The start of a socket; nil if it has started.
    func takeStart() -> SocketStart? { socketState?.start.take() }

    /// The task that checks its access again.
    var expiry: Scheduled<Void>? {
        get { rare?.expiry }
        set { if newValue != nil || rare != nil { begun.expiry = newValue } }
    }

    /// Whether the limit of control requests allows another one: 20 in a burst, then 10 per second.
    func mayControl(now: Int64) -> Bool { begun.controlRequests.take(1, .perSecond(10), now: now) == nil }
}

/// The event connections of a hub: who opened each, which streams it reads and which it paused.
struct Readers {
    /// A principal as of its last check. Consecutive connections with the same principal share it.
    final class Holder {
        let principal: Principal

        init(_ principal: Principal) { self.principal = principal }
    }

    /// The content of responses to control requests.
    struct View: Sendable {
        let id: String
        let streams: [FuturesServiceStreamName]
        let paused: [FuturesServiceStreamName]
    }

    /// The node's name, which precedes the ids of its connections; empty for a standalone gateway.
    private let node: String
    private var connections: [UInt64: Reader] = [:]
    /// The connections' numbers, by half of their ids.
    private var numbers: [UInt64: UInt64] = [:]
    private var lastHolder: Holder?
    /// How many connections have paused at least one stream.
    private(set) var pausedCount = 0

    init(node: String) { self.node = node }

    var count: Int { connections.count }
    var all: Dictionary<UInt64, Reader>.Values { connections.values }

    subscript(number: UInt64) -> Reader? { connections[number] }

    mutating func add(
        _ number: UInt64, streams: [FuturesServiceStreamName], _ options: ConnectionOptions, of principal: Principal, _ lease: Gatekeeper.Lease
    ) {
        var id = ReaderID()
        while numbers[id.low] != nil { id = ReaderID() }
        connections[number] = Reader(number, id: id, streams: streams, options: options, holder: holder(principal), lease: lease)
        numbers[id.low] = number
    }

    mutating func remove(_ number: UInt64) -> Reader? {
        guard let connection = connections.removeValue(forKey: number) else { return nil }
        numbers[connection.id.low] = nil
        if !connection.paused.isEmpty { pausedCount -= 1 }
        return connection
    }

    /// The open connection with this id; nil if there is none, or if another identity opened it.
    func find(_ id: String, openedBy identity: String?) -> Reader? {
        guard id.hasPrefix(node), let readerID = ReaderID(id.dropFirst(node.count)), let number = numbers[readerID.low],
            let connection = connections[number], connection.id == readerID, connection.isOpen, connection.holder.principal.identity == identity
        else { return nil }
        return connection
    }

    /// Records the result of another check of the connection's principal.
    mutating func renew(_ connection: Reader, _ principal: Principal) { connection.holder = holder(principal) }

    mutating func setPaused(_ names: Set<FuturesServiceStreamName>, of connection: Reader) {
        pausedCount += (names.isEmpty ? 0 : 1) - (connection.paused.isEmpty ? 0 : 1)
        connection.paused = names
    }

    /// The id as clients see it; in a cluster it is prefixed with the node's name.
    func text(of id: ReaderID) -> String { node + id.text }

    func view(of connection: Reader) -> View {
        View(id: text(of: connection.id), streams: connection.streams, paused: connection.streams.filter(connection.paused.contains))
    }

    private mutating func holder(_ principal: Principal) -> Holder {
        if let last = lastHolder, last.principal == principal { return last }
        let new = Holder(principal)
        lastHolder = new
        return new
    }
}
