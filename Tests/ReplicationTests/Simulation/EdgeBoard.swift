import FeedCore
import Replication
import Rings

/// Everything that ingests gave out, by its id: what edges may tell.
struct Register {
    struct Entry {
        let stream: Int
        let body: [UInt8]
        /// The venue's count in a value, and in the first row of one that is not complete.
        let count: Int64?
        let first: Int64?
        let isFull: Bool
    }

    private(set) var entries: [EventID: Entry] = [:]
    /// For each stream the tick at which an ingest first gave out each of the venue's messages.
    private var givenOutAt: [Int: [Int64: Int]] = [:]

    /// When an ingest gave out that message; nil if none has.
    func givenOutAt(_ count: Int64, of stream: Int) -> Int? { givenOutAt[stream]?[count] }

    mutating func add(_ event: FeedEvent, _ record: FeedRecord, at tick: Int, _ verdict: inout Verdict) {
        verdict.expect(entries[event.id] == nil, .numbersAreFresh, "\(event.id) is given out again")
        var (count, first): (Int64?, Int64?)
        switch event.kind {
        case .fetched(let content), .updated(let content): (count, first) = (content.eventTime, content.rows.ids.map { Int64($0.lowerBound) })
        default: break
        }
        let stream = SimulatedVenue.names.firstIndex(of: event.stream) ?? 0
        if let count, givenOutAt[stream]?[count] == nil { givenOutAt[stream, default: [:]][count] = tick }
        entries[event.id] = Entry(
            stream: stream, body: Array(record.body), count: count, first: first,
            isFull: record.kind.isFull)
    }
}

/// What the readers of one edge have been told, checked as it is told.
struct EdgeBoard {
    struct Stream {
        var count: Int64?
        var isDown = false
        /// The number of the last message for readers of the venue's sockets; nil if messages may be missing behind it.
        var message: Int64?
        /// Whether the next value may be any, since readers were told so.
        var mayLeap = true
        /// Whether readers were told that it is back with another value, and no value came since.
        var hasRecovered = false
        /// The epoch in which readers were told that it is back, if nothing came since.
        var backIn: UInt64?
    }

    /// One event in the rings.
    struct Told {
        let sequence: UInt64
        let stream: Int
        let kind: FeedRecord.Kind
        let id: EventID?
        let isLocal: Bool
        let isContinuous: Bool
    }

    /// A reader that has been given everything up to its id.
    struct Reader {
        let id: EventID
        var streams: [Stream]
    }

    private(set) var streams = SimulatedVenue.names.map { _ in Stream() }
    private(set) var told: [Told] = []
    /// Nothing up to this number is in the rings.
    var floor: UInt64?
    private(set) var lastData: EventID?
    /// How many readers resumed exactly, and how many began anew.
    private(set) var isServing = false

    mutating func serve(_ mirror: FeedMirror) {
        isServing = true
        // Readers that come hear of outages that go on.
        for (place, name) in SimulatedVenue.names.enumerated() { streams[place].isDown = mirror.streams[name]?.isDown == true }
        floor = floor ?? mirror.epochs.epochs.first.map { $0.first - 1 }
    }

    /// The rings are emptied, and readers get the complete values.
    mutating func empty(_ mirror: inout FeedMirror) {
        told = []
        loseMessages()
        lastData = nil
        floor = mirror.isFollowing ? mirror.epochs.head : nil
        for (place, name) in SimulatedVenue.names.enumerated() {
            let count = mirror.isFollowing ? mirror.content(of: name)?.eventTime : nil
            if !isServing { streams[place] = Stream() }
            streams[place].count = count
            streams[place].mayLeap = count == nil
        }
    }

    /// Readers that have no value get the whole one.
    mutating func restore(_ name: FuturesServiceStreamName, _ mirror: inout FeedMirror) {
        guard let stream = SimulatedVenue.names.firstIndex(of: name), streams[stream].count == nil else { return }
        streams[stream].count = mirror.content(of: name)?.eventTime
        streams[stream].mayLeap = streams[stream].hasRecovered
    }

    mutating func tell(_ event: EncodedEvent, _ register: Register, _ verdict: inout Verdict) {
        guard let stream = SimulatedVenue.names.firstIndex(of: event.stream) else { return }
        if !event.isLocal {
            guard let entry = register.entries[event.id] else { return verdict.expect(false, .idIsOneEvent, "\(event.id) is nobody's event") }
            // An edge that was cut off gives its own, longer duration of an outage.
            let given = event.kind == .recovered || event.kind == .notRecovered ? Self.withDuration(of: event, entry.body) : entry.body[...]
            verdict.expect(entry.stream == stream && given == event.body, .idIsOneEvent, "\(event.id) has other bytes than it was given")
            let last = told.last { !$0.isLocal }?.sequence ?? 0
            verdict.expect(event.id.sequence > last, .order, "\(event.id) comes behind \(last)")
        }
        told.append(
            Told(
                sequence: event.id.sequence, stream: stream, kind: event.kind, id: event.kind.carriesData ? event.id : nil, isLocal: event.isLocal,
                isContinuous: event.isContinuous))
        if event.kind.carriesData { lastData = event.id }
        if event.kind == .ended { return end(stream, event.id) }
        let isTakeover = event.kind == .disconnected && String(decoding: event.body, as: UTF8.self).contains("Another ingest took over")
        // Who has read a claim knows that the word of its ingest is still to come.
        let isTooSoon = isTakeover && streams[stream].backIn == event.id.epoch
        verdict.expect(!isTooSoon, .oneOutage, "\(event.stream) \(event.id): it was said to be back before")
        if event.kind == .recovered { streams[stream].backIn = event.isContinuous ? event.id.epoch : nil }
        if event.kind.carriesData || event.kind == .disconnected { streams[stream].backIn = nil }
        let isServing = isServing
        Self.tell(&streams[stream], event.kind, event.kind.carriesData ? register.entries[event.id] : nil, isContinuous: event.isContinuous) {
            verdict.expect($0 || ($1 == .oneOutage && !isServing), $1, "\(event.stream) \(event.id): \($2)")
        }
    }

    /// Readers of the venue's sockets are sent a message.
    mutating func passOn(_ message: VenueMessage, _ verdict: inout Verdict) {
        guard let stream = SimulatedVenue.names.firstIndex(of: message.stream) else { return }
        let number = message.text.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
        if let number {
            let last = streams[stream].message
            verdict.expect(last == nil || number == last.map { $0 + 1 }, .messages, "\(message.stream): \(number) follows \(last ?? 0)")
            verdict.expect(streams[stream].count ?? .max >= number, .messages, "\(message.stream): \(number) comes before its content")
        }
        streams[stream].message = number
    }

    /// The sockets of all streams are closed.
    mutating func loseMessages() { for stream in streams.indices { streams[stream].message = nil } }

    private static func withDuration(of event: EncodedEvent, _ body: [UInt8]) -> ArraySlice<UInt8> {
        MirroredWords.lengthened(body[...], downMs: MirroredWords.downMs(event.body) ?? 0)
    }

    /// Nobody wants the stream any more: its ring goes.
    private mutating func end(_ stream: Int, _ id: EventID) {
        streams[stream] = Stream()
        floor = id.sequence
    }

    /// What one event does to one reader of one stream.
    private static func tell(
        _ stream: inout Stream, _ kind: FeedRecord.Kind, _ entry: Register.Entry?, isContinuous: Bool,
        _ expect: (Bool, Invariant, String) -> Void
    ) {
        switch kind {
        case .disconnected:
            expect(!stream.isDown, .oneOutage, "a second disconnect")
            stream.isDown = true
        case .recovered:
            expect(stream.isDown, .oneOutage, "a recover without a disconnect")
            stream.isDown = false
            if !isContinuous { (stream.mayLeap, stream.hasRecovered) = (true, true) }
        default: break
        }
        guard let entry, let count = entry.count else { return }
        if let known = stream.count, !(stream.mayLeap && entry.isFull) {
            let first = entry.isFull ? count : entry.first ?? count
            expect(first <= known + 1, .nothingLost, "\(first) follows \(known)")
            expect(count > known, .nothingTwice, "\(count) comes behind \(known)")
        }
        // A change is for readers that come with what it changes.
        guard entry.isFull || stream.count != nil else { return }
        stream.count = count
        (stream.mayLeap, stream.hasRecovered) = (false, false)
    }

    /// A reader that leaves now, with what it has.
    var reader: Reader? { isServing ? lastData.map { Reader(id: $0, streams: streams) } : nil }

    private func place(after sequence: UInt64) -> Int {
        var (low, high) = (0, told.count)
        while low < high {
            let middle = (low + high) / 2
            if told[middle].sequence > sequence { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// A reader comes. Returns whether it could go on behind its id.
    func resume(_ reader: Reader, _ mirror: FeedMirror, _ register: Register, _ verdict: inout Verdict) -> Bool {
        guard mirror.epochs.contains(reader.id), let floor, floor <= reader.id.sequence else { return false }
        var mine = reader.streams
        for event in told[place(after: reader.id.sequence)...] {
            guard let id = event.id, let entry = register.entries[id] else {
                // Notices were told by another edge in other words.
                if event.kind == .recovered, !event.isContinuous { mine[event.stream].mayLeap = true }
                continue
            }
            Self.tell(&mine[event.stream], event.kind, entry, isContinuous: true) { holds, _, detail in
                verdict.expect(holds, .resume, "behind \(reader.id) at \(id): \(detail)")
            }
        }
        for stream in mine.indices where streams[stream].count != nil && mine[stream].count != nil {
            verdict.expect(
                mine[stream].count == streams[stream].count, .resume,
                "behind \(reader.id) stream \(stream) has \(mine[stream].count ?? 0), here it is \(streams[stream].count ?? 0)")
        }
        return true
    }
}

extension EncodedEvent {
    /// Whether a `recover` says that nothing was missed.
    var isContinuous: Bool { isLocal && String(decoding: body, as: UTF8.self).contains("continuous") }
}
