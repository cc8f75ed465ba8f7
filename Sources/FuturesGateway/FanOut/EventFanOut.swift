import FuturesFeed
import MicroHTTP
import Rings

/// Sends every reader of one event stream loop its missing events.
///
/// It runs only in the loop's turn. Other threads post commands to its inbox. It knows each ring only as of the last command.
final class EventFanOut: EventStreamWriter, @unchecked Sendable {
    /// The fan-out's calls to the hub, in the loop's turn.
    struct Callbacks: Sendable {
        /// The head of the response is sent; the hub answers with the command `open`.
        let opened: @Sendable (EventStream, UInt64) -> Void
        /// The connection has ended, or was never opened.
        let closed: @Sendable (_ number: UInt64) -> Void
        /// A reader needs the snapshot of a ring's stream.
        let fellBehind: @Sendable (_ number: UInt64, _ ring: Int) -> Void
        /// A reader of a replay has received all data of its last piece.
        let hungry: @Sendable (_ number: UInt64) -> Void
        /// An agent has received every notification so far.
        let notified: @Sendable (_ number: UInt64) -> Void
        /// A reader of a replay now reads live events, or could not, because the rings start too late.
        let wentLive: @Sendable (_ number: UInt64, _ isLive: Bool) -> Void
        /// The client of a socket has sent a text.
        let socketReceived: @Sendable (_ number: UInt64, _ text: [UInt8]) -> Void
    }

    let inbox: FanOutInbox
    let callbacks: Callbacks
    let limits: GatewayConfiguration.Events

    // The properties below are used in the loop's turn only.
    var rings = Slab<FollowedRing>()
    /// The readers, by the slots of their streams.
    var clients = Slab<EventClient>()
    /// The readers' slots by their numbers.
    private var slots: [UInt64: Int32] = [:]
    private var unclaimed = UnclaimedStreams()
    /// The rings that have grown since `enqueueReaders`.
    var grownRings: [Int] = []
    /// The slots of readers with unsent data, in the order of their turns. Those before `nextQueued` have been served.
    var queuedClients: [Int32] = []
    var nextQueued = 0
    /// The slots of paced readers with held events. `nextTurnAt` is when the first of them, or the first compression group, is due.
    var pacedClients: [Int] = []
    var nextTurnAt: Int64?
    /// The limit of each compression group's blocks.
    var ringQuota: RingQuota
    let batch = GatherList()
    var tally = FanOutTally()
    /// When the oldest event since the last `enqueueReaders` was received, monotonic nanoseconds.
    var oldestReceipt = Int64.max
    var compression: Compression
    /// Called when every reader has everything.
    private var awaitingSent: [@Sendable () -> Void] = []

    init(limits: GatewayConfiguration.Events, callbacks: Callbacks, inbox: FanOutInbox) {
        self.limits = limits
        self.callbacks = callbacks
        self.inbox = inbox
        ringQuota = RingQuota(of: limits.ringBytes)
        compression = Compression(maximumGroups: limits.compressedSets, window: limits.compressionWindow)
    }

    func streamsDidWake() {
        let (commands, change) = inbox.take()
        let now = Self.now
        for command in commands { perform(command, now) }
        inbox.saw(change)
        enqueueReaders()
        compressDue(now)
        sweep(now)
        takeTurns(now)
        if !awaitingSent.isEmpty { tellSent() }
    }

    /// Calls back if every reader has everything. A full socket becomes writable, or its reader is ended after a while.
    private func tellSent() {
        guard queuedClients.isEmpty, !clients.indices.contains(where: { clients.contains($0) && clients[$0].isBlocked }) else { return }
        let callbacks = awaitingSent
        awaitingSent = []
        for callback in callbacks { callback() }
    }

    /// Zero while readers are queued; otherwise the time until `nextTurnAt`, but at least 5 ms, so that many paced readers share a wake-up.
    var patience: Duration? {
        queuedClients.isEmpty ? nextTurnAt.map { .nanoseconds(max(5_000_000, $0 - Self.now)) } : .zero
    }

    /// Compressing takes longer than waking the loop's thread.
    var mayBeServedElsewhere: Bool { patience == nil && tally.compressedReaders == 0 }

    func streamDidOpen(_ stream: EventStream, context: UInt64) {
        unclaimed.add(stream)
        callbacks.opened(stream, context)
    }

    func streamDidNotOpen(context: UInt64) { callbacks.closed(context) }

    func streamDidReceive(_ stream: EventStream, _ bytes: UnsafeRawBufferPointer) {
        if unclaimed.contains(stream) {
            if !unclaimed.append(bytes, of: stream, atMost: limits.sockets.messageBytes) { stream.fail() }
        } else if isRead(stream) {
            settle(stream.slot, receive(&clients[stream.slot], bytes, Self.now))
        }
    }

    func streamDidBecomeWritable(_ stream: EventStream) {
        guard isRead(stream) else { return }
        clients[stream.slot].isBlocked = false
        settle(stream.slot, flush(&clients[stream.slot], Self.now))
        if !awaitingSent.isEmpty { tellSent() }
    }

    func streamDidClose(_ stream: EventStream) {
        guard unclaimed.remove(stream) == nil else { return }
        guard isRead(stream) else { return assertionFailure("A stream closed that was never opened, or that the fan-out had ended itself.") }
        forget(stream.slot)
        if !awaitingSent.isEmpty { tellSent() }
    }

    static var now: Int64 { Instant.current.nanoseconds }

    private func isRead(_ stream: EventStream) -> Bool { clients.contains(stream.slot) && clients[stream.slot].stream == stream }

    private func perform(_ command: FanOutInbox.Command, _ now: Int64) {
        switch command {
        case .addRing(let index, let name, let ring):
            assert(!rings.contains(index), "The hub added ring \(index) twice.")
            rings.insert(FollowedRing(name: name, view: ring), at: index)
        case .removeLog(let index):
            guard rings.contains(index) else { return assertionFailure("The hub removed log \(index), which it never added.") }
            assert(rings[index].readers.isEmpty, "The hub removed log \(index), which readers still read.")
            for group in rings[index].groups { dissolve(group) }
            rings.remove(index)
            grownRings.removeAll { $0 == index }
        case .grow(let index, let extent, let receivedAt):
            guard rings.contains(index) else { return assertionFailure("Log \(index) grew, which the hub never added.") }
            rings[index].view.extent = extent
            noteGrowth(index, receivedAt)
        case .renew(let index, let ring, let receivedAt):
            guard rings.contains(index) else { return assertionFailure("Log \(index) grew, which the hub never added.") }
            rings[index].view = ring
            noteGrowth(index, receivedAt)
        case .rest:
            assert(slots.isEmpty, "The hub suspended a thread that has readers.")
            rings = Slab()
            grownRings = []
        case .reader(let number, let command, let done):
            if case .open(let stream, let opening) = command {
                open(number, stream, opening, now)
            } else if let slot = slots[number].map({ Int($0) }) {
                settle(slot, serve(&clients[slot], command, now))
            }
            done?()
        case .relieve(let readers):
            relieve(readers, now)
        case .limit(let quota):
            ringQuota = quota
            compression.limit(to: quota)
        case .whenSent(let callback): awaitingSent.append(callback)
        case .measure(let answer):
            answer(reading)
        }
    }

    private func serve(_ client: inout EventClient, _ command: FanOutInbox.ReaderCommand, _ now: Int64) -> EventClient.Connection {
        switch command {
        case .open: return .open
        case .subscribe(let values, let head): return subscribe(&client, values, head, now)
        case .unsubscribe(let rings): return unsubscribe(&client, rings, now)
        case .pause(let rings): return pause(&client, rings, now)
        case .resume(let values, let head): return resume(&client, values, head, now)
        case .refill(let value): return refill(&client, value, now)
        case .play(let bytes): return play(&client, bytes, now)
        case .send(let bytes):
            answer(&client, bytes)
            return flush(&client, now)
        case .reformat(let format, let rings): return reformat(&client, format, rings, now)
        case .goLive(let values, let head, let after, let news): return goLive(&client, values, head, after, news, now)
        case .end(let code, let reason):
            end(&client, code: code, reason: reason)
            return flush(&client, now)
        }
    }

    private func open(_ number: UInt64, _ stream: EventStream, _ opening: Opening, _ now: Int64) {
        guard let early = unclaimed.remove(stream) else {
            callbacks.closed(number)
            return
        }
        clients.insert(EventClient(number: number, stream: stream, options: opening.options, limits.sockets, now: now), at: stream.slot)
        slots[number] = Int32(clamping: stream.slot)
        tally.opened(opening.options.format, isCompressed: opening.options.isCompressed)
        settle(stream.slot, begin(&clients[stream.slot], opening, now))
        if !early.isEmpty, isRead(stream) { settle(stream.slot, early.withUnsafeBytes { receive(&clients[stream.slot], $0, now) }) }
    }

    private func subscribe(_ client: inout EventClient, _ values: [CachedValue], _ head: EventID, _ now: Int64) -> EventClient.Connection {
        guard sendBefore(&client, now) == .open else { return .ended }
        for value in values { join(&client, value.ring) }
        guard client.socket == nil else { return sendFirst(values, to: &client, now) }
        return sendSnapshots(values, to: &client, head, now)
    }

    // Events of the other streams may have waited for the reader's group, or for the snapshot of a stream that is left out now.

    private func unsubscribe(_ client: inout EventClient, _ rings: [Int], _ now: Int64) -> EventClient.Connection {
        leaveGroupOrEnd(&client)
        for ring in rings { leave(&client, ring) }
        return flush(&client, now)
    }

    private func pause(_ client: inout EventClient, _ rings: [Int], _ now: Int64) -> EventClient.Connection {
        leaveGroupOrEnd(&client)
        change(&client, rings) { $0.isPaused = true }
        return flush(&client, now)
    }

    func join(_ client: inout EventClient, _ ring: Int) {
        guard rings.contains(ring) else { return assertionFailure("The hub gave a reader log \(ring), which it never added.") }
        client.reader.subscriptions.append(ReaderCursors.Subscription(ring: ring, cursor: rings[ring].view.endOrdinal))
        client.reader.streams.insert(rings[ring].streams)
        attach(&client, client.reader.subscriptions.count - 1)
    }

    /// Adds the reader to a ring's list of readers, so that it is served when the ring grows.
    func attach(_ client: inout EventClient, _ place: Int) {
        let ring = client.reader.subscriptions[place].ring
        guard rings.contains(ring) else { return assertionFailure("A reader has log \(ring), which is gone.") }
        client.reader.subscriptions[place].readerIndex = rings[ring].readers.count
        rings[ring].readers.append(Int32(clamping: client.stream.slot))
    }

    /// Removes the reader from a ring's list of readers. The last reader in the list takes its place.
    func detach(_ client: inout EventClient, _ place: Int) {
        let (ring, index) = (client.reader.subscriptions[place].ring, client.reader.subscriptions[place].readerIndex)
        client.reader.subscriptions[place].readerIndex = -1
        guard index >= 0, rings.contains(ring), let last = rings[ring].readers.popLast(), index < rings[ring].readers.count,
            last != client.stream.slot, clients.contains(Int(last))
        else { return }
        rings[ring].readers[index] = last
        change(&clients[Int(last)], [ring]) { $0.readerIndex = index }
    }

    private func leave(_ client: inout EventClient, _ ring: Int) {
        guard let place = client.reader.subscriptions.firstIndex(where: { $0.ring == ring }) else { return }
        detach(&client, place)
        client.reader.subscriptions.remove(at: place)
        client.reader.dueAt[ring] = nil
        if rings.contains(ring) { client.reader.streams.remove(rings[ring].streams) }
    }

    /// Removes the reader from its group and all its streams.
    func leaveAll(_ client: inout EventClient) {
        leaveGroup(&client)
        for ring in client.reader.subscriptions.map(\.ring) { leave(&client, ring) }
    }

    /// Changes the reader's cursors in these rings.
    func change(_ client: inout EventClient, _ rings: [Int], _ change: (inout ReaderCursors.Subscription) -> Void) {
        for place in client.reader.subscriptions.indices where rings.contains(client.reader.subscriptions[place].ring) {
            change(&client.reader.subscriptions[place])
        }
    }

    /// Removes a served reader if its connection has ended.
    func settle(_ slot: Int, _ connection: EventClient.Connection) {
        if connection == .ended { forget(slot) }
    }

    private func forget(_ slot: Int) {
        leaveAll(&clients[slot])
        let number = clients[slot].number
        tally.closed(clients[slot].options.format, isCompressed: clients[slot].options.isCompressed)
        slots[number] = nil
        clients.remove(slot)
        // Without readers there is no tick that would report it.
        if slots.isEmpty { inbox.hold(blocks: compression.memory) }
        callbacks.closed(number)
    }
}
