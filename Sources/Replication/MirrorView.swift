package import FeedCore
import FeedDialects
import Rings

/// The end of an outage that only this node had, because the log was silent.
package struct OwnReturn: Sendable {
    /// The number of the event before it.
    package let at: UInt64
    package let recovery: FeedRecovery
}

/// A stream as the log reports it, and as this node reported it to its readers.
package struct MirroredStream: Sendable {
    package let name: FuturesServiceStreamName
    package internal(set) var state = FeedState.connecting
    /// Whether the log reports an outage that has not ended.
    package internal(set) var isLost = false
    /// The number of the event with which this node reported an outage to its readers that is not in the log; nil if there is none.
    package internal(set) var cutAt: UInt64?
    /// The end of the last such outage, and the number of the event before it; nil if there was none.
    package internal(set) var ownReturn: OwnReturn?
    /// The last verification before the outage, if this node reported the outage before the log did; nil otherwise.
    var cutSince: Instant?
    /// Whether a new writer took over and has not reported the stream's state yet.
    var awaitsWord = false
    /// Whether events are missing between the readers' content and the next event.
    var hasGap = false
    /// Whether its newest event was too large for the log. Only a complete content ends the outage.
    private(set) var isOmitted = false
    var content = MirroredContent()
    /// Whether the ingest has a connection that carries it.
    package internal(set) var isConnected = false
    /// When the content was last verified, apart from its own events, ms since 1970 UTC by the ingest's clock.
    var verifiedAt: Int64 = .min
    /// The venue's message that brought an order book to its current update; nil if another event did, or the log does not have the messages.
    package fileprivate(set) var newestMessage: [UInt8]?
    /// Its recent incidents, oldest first.
    package internal(set) var incidents: [StreamIncident] = []

    /// Whether this node reported an outage to its readers that is not in the log.
    package var isCut: Bool { cutAt != nil }
    /// Whether readers wait for a `recover`.
    package var isDown: Bool { isLost || isCut }
    /// The id of the newest snapshot or update; nil if there is none.
    package var contentID: EventID? { content.id }
    /// Whether the content is complete.
    package var isWhole: Bool { content.isWhole }

    init(_ name: FuturesServiceStreamName) { self.name = name }

    /// The status of the stream. This does not parse its rows.
    package func status(_ clock: WriterClock, now: Instant) -> StreamStatus {
        let head = content.head
        return StreamStatus(
            name: name, state: isCut ? .stale : state, contentID: contentID, isWhole: isWhole && isComplete,
            ageMs: head.map { clock.age(of: $0.receivedAt, now) },
            unverifiedMs: head.map { clock.age(of: max($0.receivedAt, verifiedAt), now) }, source: head?.source ?? .websocket,
            isConnected: isConnected && !isCut, observers: 0)
    }

    /// Whether the writer regards the content as complete: a table or a list is complete after it has been live once.
    private var isComplete: Bool { state != .connecting || name.messageRule == .replace }

    /// Applies a message of the venue, or a gap between messages.
    fileprivate mutating func take(_ message: VenueMessage) { newestMessage = name.mergeRule == .book ? message.text : nil }

    /// Adds an incident if it is new.
    mutating func note(_ incident: StreamIncident) {
        guard !incidents.contains(incident) else { return }
        incidents.insert(incident, at: (incidents.lastIndex { $0.at <= incident.at } ?? -1) + 1)
        if incidents.count > Self.mostIncidents { incidents.removeFirst() }
    }

    /// Applies an event's record, and adds the events to deliver.
    fileprivate mutating func take(
        _ record: FeedRecord, _ id: EventID, _ now: Instant, _ clock: WriterClock, _ limit: (FuturesServiceStreamName) -> Int,
        _ events: inout [EncodedEvent]
    ) {
        if isOmitted, !record.kind.isFull, goesUntold(record) { return }
        let (wasDown, wasCut, wasCutSince) = (isDown, isCut, cutSince)
        var record = record
        switch record.kind {
        case .change, .value, .fetchedChange, .fetchedValue:
            if record.kind.isFull, awaitsWord || hasGap {
                // The new writer does not know what content readers have.
                let before = EventID(epoch: id.epoch, sequence: id.sequence - 1)
                if !wasDown { events.append(.notice(name, before, .disconnected(reason: "Another ingest took over."))) }
                let downMs = (cutSince ?? verified(clock, now)).map { now.milliseconds(since: $0) } ?? 0
                events.append(.notice(name, before, .recovered(FeedRecovery(error: nil, method: .snapshot, downMs: downMs, missed: nil))))
                if isOmitted { events.append(.notice(name, before, .status(state, ageMs: nil, unverifiedMs: nil))) }
                isOmitted = false
                settle(isLost: false)
            }
            content.take(record.body, id: id, isFull: record.kind.isFull, of: name, limit: limit)
            newestMessage = nil
            if state == .connecting { state = content.head?.state ?? .live }
            if content.head?.source == .websocket { isConnected = true }
        case .connected: isConnected = true
        case .disconnected:
            isConnected = false
            let hadGap = hasGap
            settle(isLost: true)
            hasGap = hadGap
            if wasDown { return }
        case .recovered, .notRecovered:
            if record.kind == .recovered {
                settle(isLost: false)
                if !wasDown { return }
            }
            record.body = MirroredWords.lengthened(record.body, downMs: downMs(record.body, wasCutSince, clock, now))
        case .status:
            guard let told = MirroredWords.state(record.body) else { break }
            state = told
            if state == .stale || state == .recovering || state == .failed {
                settle(isLost: true)
            } else {
                if !awaitsWord { (isLost, cutSince) = (false, wasCut ? cutSince : nil) }
                if wasCut { return }
            }
        default: break
        }
        let head = record.kind.carriesData ? content.head : nil
        events.append(EncodedEvent(record, of: name, id: id, head: head))
    }

    /// Handles an event that was too large for the log: an outage until the content is complete again.
    fileprivate mutating func omit(_ id: EventID, _ now: Instant, _ clock: WriterClock, _ events: inout [EncodedEvent]) {
        if !isDown {
            cutSince = verified(clock, now)
            events.append(.notice(name, id, .disconnected(reason: "The content is too large for the cluster log.")))
            events.append(.notice(name, id, .status(.stale, ageMs: nil, unverifiedMs: nil)))
        }
        (cutAt, isOmitted) = (id.sequence, true)
        (hasGap, content, newestMessage) = (true, MirroredContent(), nil)
    }

    /// Applies a record while the content is not complete, because an event was too large for the log. Returns whether readers must not get it.
    private mutating func goesUntold(_ record: FeedRecord) -> Bool {
        switch record.kind {
        case .change, .fetchedChange, .recovered, .notRecovered: break
        case .connected: isConnected = true
        case .disconnected: isConnected = false
        case .status: state = MirroredWords.state(record.body) ?? state
        default: return false
        }
        return true
    }

    /// How long an outage lasted for this node's readers, ms, if the log reports its end only now.
    private func downMs(_ body: ArraySlice<UInt8>, _ cutSince: Instant?, _ clock: WriterClock, _ now: Instant) -> Int64 {
        // The node was cut off before the outage that the ingest knows of.
        let own = cutSince.map { now.milliseconds(since: $0) } ?? 0
        // The record waited in the writer, or for a leader of the log. Its incident says when the ingest wrote it.
        guard let told = MirroredWords.downMs(body), let end = incidents.last(where: { $0.kind == .recover }),
            !incidents.contains(where: { $0.kind != .recover && $0.at > end.at })
        else { return own }
        let late = clock.age(of: end.at, now)
        return late < Self.noticeable ? own : max(own, told.addingReportingOverflow(late).partialValue)
    }

    /// Applies the stream's state from the log. An outage that this node reported first keeps its beginning until it ends.
    mutating func settle(isLost: Bool) {
        (self.isLost, cutAt, cutSince, hasGap, awaitsWord) = (isLost, nil, isLost ? cutSince : nil, false, false)
    }

    /// When the content was last verified to be the newest; nil if there is none.
    package func verified(_ clock: WriterClock, _ now: Instant) -> Instant? {
        content.head.map { clock.moment(of: max($0.receivedAt, verifiedAt), now) }
    }
}

/// A feed that is read from its log, as it is now.
package protocol FeedView {
    var streams: [FuturesServiceStreamName: MirroredStream] { get }
    /// The listings by the name of the upstream; the first one has an empty name.
    var listings: [String: VenueListing] { get }
    /// The upstreams' state at the writer; nil before it was read.
    var gauges: IngestGauges? { get }
    /// The clock of the times in contents.
    var clock: WriterClock { get }
    /// The valid epochs.
    var epochs: EpochTable { get }
    /// A stream's complete content; nil if there is none.
    mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent?
}

extension FeedMirror: FeedView {}
extension PlayedFeed: FeedView {}

/// The state of the log as a reader knows it: the valid epochs and the streams.
struct MirrorView: Sendable {
    var epochs = EpochTable()
    var streams: [FuturesServiceStreamName: MirroredStream] = [:]
    /// The listings that were read, by the name of the upstream; the first one has an empty name.
    var listings: [String: VenueListing] = [:]
    /// The venues' own lists, likewise; only a tape has them.
    var venueLists: [String: ArraySlice<UInt8>] = [:]
    /// The ingest's state; nil before it was read.
    var gauges: IngestGauges?
    var clock = WriterClock()
    /// Whether the writer has announced its end.
    var isResigned = false
    /// Streams whose content a checkpoint has completed since this was last emptied.
    var restored: [FuturesServiceStreamName] = []
    /// The streams that the last message began, or whose outage it ended.
    private(set) var risen: [FuturesServiceStreamName] = []
    /// The venue's messages of the last record.
    private(set) var messages: [VenueMessage] = []
    private var names: [String: FuturesServiceStreamName] = [:]

    /// Applies a record with a list of symbols.
    mutating func takeList(_ record: FeedRecord) {
        let upstream = ListingRecord.upstream(record.subject)
        switch record.kind {
        case .listing: if let listing = ListingRecord.listing(record.body) { listings[upstream] = listing }
        case .venueList: venueLists[upstream] = record.body
        default: break
        }
    }

    /// Applies the records of a valid message, and returns the events to deliver.
    mutating func apply(_ message: LogMessage, _ now: Instant, isOfThePast: Bool, limit: (FuturesServiceStreamName) -> Int) -> [EncodedEvent] {
        var events: [EncodedEvent] = []
        events.reserveCapacity(message.records.count)
        var number = message.first
        clock.hear(message.sentAt, now, isOfThePast: isOfThePast)
        if !messages.isEmpty { messages = [] }
        if !risen.isEmpty { risen = [] }
        for record in message.records {
            defer { number += record.numbers }
            switch record.kind {
            case .listing, .venueList: takeList(record)
            case .gauges: gauges = IngestGauges(record.body) ?? gauges
            case .verified:
                VerifiedRecord.read(record.body) { if let name = name($0), streams[name] != nil { streams[name]?.verifiedAt = $1 } }
            case .resigned: isResigned = true
            case .epoch: break
            case .nothing:
                guard let name = name(record.subject), streams[name] != nil else { continue }
                streams[name]?.omit(EventID(epoch: message.epoch, sequence: number), now, clock, &events)
            default:
                guard let name = name(record.subject) else { continue }
                switch record.kind {
                case .checkpoint: restore(name, record.body, limit)
                case .message, .messagesLost:
                    guard streams[name] != nil else { continue }
                    let message = VenueMessage(stream: name, text: record.kind == .message ? Array(record.body) : nil)
                    streams[name]?.take(message)
                    messages.append(message)
                case .incidents: for incident in IncidentsRecord.incidents(record.body) { streams[name]?.note(incident) }
                default:
                    let id = EventID(epoch: message.epoch, sequence: number)
                    let wasDown = streams[name]?.isDown ?? true
                    streams[name, default: MirroredStream(name)].take(record, id, now, clock, limit, &events)
                    if wasDown, streams[name]?.isDown == false { risen.append(name) }
                    if record.kind == .ended { streams[name] = nil }
                }
            }
        }
        return events
    }

    /// Handles the takeover by a new writer, which reports an outage of each stream that it knows.
    mutating func beginEpoch(_ claim: LogMessage, _ now: Instant) {
        (clock, isResigned) = (WriterClock(), false)
        clock.hear(claim.sentAt, now)
        for name in streams.keys {
            streams[name]?.awaitsWord = true
            streams[name]?.take(VenueMessage(stream: name, text: nil))
        }
    }

    private mutating func name(_ text: String) -> FuturesServiceStreamName? {
        if let name = names[text] { return name }
        let name = FuturesServiceStreamName(text)
        if names.count > 100_000 { names = [:] }
        names[text] = name
        return name
    }
}

/// The complete state of a stream, written regularly for later readers of the log.
package struct Checkpoint: Sendable {
    package var state: FeedState
    package var isLost: Bool
    package var isConnected: Bool
    /// In the format of an `update`; nil if there is none.
    package var content: FuturesServiceFeedContent?

    package init(state: FeedState, isLost: Bool, isConnected: Bool, content: FuturesServiceFeedContent?) {
        (self.state, self.isLost, self.isConnected, self.content) = (state, isLost, isConnected, content)
    }

    /// The content in a checkpoint's record; nil if there is none.
    package static func content(of record: FeedRecord, _ name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        record.body.split(separator: UInt8(ascii: " "), maxSplits: 3).dropFirst(3).first.flatMap { content($0, name) }
    }

    fileprivate static func content(_ text: ArraySlice<UInt8>, _ name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        text.count > 1 ? ContentReader.content(Array(text), of: name) : nil
    }

    /// `<state> <isLost> <isConnected> <content>`
    package func record(of name: FuturesServiceStreamName) -> FeedRecord {
        let data = content.map { ContentEncoder.event($0) } ?? Array("-".utf8)
        return FeedRecord(
            .checkpoint, of: name.description, (Array("\(state.rawValue) \(isLost ? 1 : 0) \(isConnected ? 1 : 0) ".utf8) + data)[...])
    }
}

extension MirrorView {
    /// Applies a checkpoint, unless the stream's content is already complete.
    private mutating func restore(_ name: FuturesServiceStreamName, _ body: ArraySlice<UInt8>, _ limit: (FuturesServiceStreamName) -> Int) {
        let parts = body.split(separator: UInt8(ascii: " "), maxSplits: 3)
        guard parts.count == 4, let state = FeedState(rawValue: String(decoding: parts[0], as: UTF8.self)) else { return }
        if streams[name] == nil {
            risen.append(name)
            streams[name] = MirroredStream(name)
            streams[name]?.state = state
            streams[name]?.isLost = parts[1].elementsEqual("1".utf8)
        }
        if streams[name]?.isDown == false { streams[name]?.isConnected = parts[2].elementsEqual("1".utf8) }
        guard let stream = streams[name], !stream.isWhole, !stream.isOmitted, let content = Checkpoint.content(parts[3], name) else { return }
        streams[name]?.content.take(parts[3], id: content.id, isFull: true, of: name, limit: limit)
        restored.append(name)
    }
}
