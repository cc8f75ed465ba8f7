import EventLogs
package import FeedCore

/// A stream as the log tells it, and as the readers of this node were told.
package struct MirroredStream: Sendable {
    package let name: FuturesServiceStreamName
    package internal(set) var state = FeedState.connecting
    /// Whether the log tells of an outage that goes on.
    package internal(set) var isLost = false
    /// Whether this node told its readers of an outage of which the log knows nothing.
    package internal(set) var isCut = false
    /// Whether a new writer took over and has not said yet what became of the stream.
    var awaitsWord = false
    /// Whether events are missing between what readers have and what comes next.
    var hasGap = false
    var content = MirroredContent()

    /// Whether readers wait for a `recover`.
    package var isDown: Bool { isLost || isCut }
    /// The id of the newest value or change; nil if there is none.
    package var contentID: EventID? { content.id }
    /// Whether the content is all there is.
    package var isWhole: Bool { content.isWhole }

    init(_ name: FuturesServiceStreamName) { self.name = name }

    /// The log has said what became of the stream.
    mutating func settle(isLost: Bool) { (self.isLost, isCut, hasGap, awaitsWord) = (isLost, false, false, false) }
}

/// What a reader of the log has of it: the way that it took, and the streams.
struct MirrorView: Sendable {
    var epochs = EpochTable()
    var streams: [FuturesServiceStreamName: MirroredStream] = [:]
    /// Streams whose content a checkpoint has completed since this was emptied.
    var restored: [FuturesServiceStreamName] = []
    private var names: [String: FuturesServiceStreamName] = [:]

    /// Takes the records of a message that counts, and gives what readers are to be told.
    mutating func apply(_ message: LogMessage, limit: (FuturesServiceStreamName) -> Int) -> [MirroredEvent] {
        var events: [MirroredEvent] = []
        events.reserveCapacity(message.records.count)
        var number = message.first
        for record in message.records {
            defer { if record.kind.isNumbered { number += 1 } }
            guard record.kind.isNumbered || record.kind == .checkpoint, let name = name(record.subject) else { continue }
            if record.kind == .checkpoint {
                restore(name, record.body, limit(name))
            } else {
                take(record, name, EventID(epoch: message.epoch, sequence: number), limit(name), &events)
            }
        }
        return events
    }

    /// A new writer took over: it tells of an outage of each stream that it knows.
    mutating func beginEpoch() {
        for name in streams.keys { streams[name]?.awaitsWord = true }
    }

    private mutating func take(
        _ record: FeedRecord, _ name: FuturesServiceStreamName, _ id: EventID, _ limit: Int, _ events: inout [MirroredEvent]
    ) {
        var stream = streams[name] ?? MirroredStream(name)
        streams[name] = nil
        defer { if record.kind != .ended { streams[name] = stream } }
        let (wasDown, wasCut) = (stream.isDown, stream.isCut)
        switch record.kind {
        case .change, .value, .fetchedChange, .fetchedValue:
            if record.kind.isFull, stream.awaitsWord || stream.hasGap {
                // The writer knows nothing of what readers have.
                let before = EventID(epoch: id.epoch, sequence: id.sequence - 1)
                if !wasDown { events += [MirroredEvent.lost(name, before, "Another ingest took over.")].compactMap(\.self) }
                events += [MirroredEvent.back(name, before, .snapshot, downMs: 0)].compactMap(\.self)
                stream.settle(isLost: false)
            }
            stream.content.take(record.body, id: id, isFull: record.kind.isFull, of: name, limit: limit)
            if stream.state == .connecting { stream.state = .live }
        case .disconnected:
            let hasGap = stream.hasGap
            stream.settle(isLost: true)
            stream.hasGap = hasGap
            if wasDown { return }
        case .recovered:
            stream.settle(isLost: false)
            if !wasDown { return }
        case .status:
            guard let state = Self.state(record.body) else { break }
            stream.state = state
            if state == .stale || state == .recovering || state == .failed {
                stream.settle(isLost: true)
            } else {
                if !stream.awaitsWord { stream.isLost = false }
                if wasCut { return }
            }
        case .nothing: return
        case .ended, .connected, .failed, .fetchFailed, .notRecovered, .checkpoint, .epoch: break
        }
        events.append(MirroredEvent(stream: name, kind: record.kind, id: id, body: record.body, isLocal: false))
    }

    /// The state that a `status` tells: its last member but the ages.
    private static func state(_ body: ArraySlice<UInt8>) -> FeedState? {
        let text = String(decoding: body, as: UTF8.self)
        return FeedState.allCases.first { text.contains("\"state\":\"\($0.rawValue)\"") }
    }

    private mutating func name(_ text: String) -> FuturesServiceStreamName? {
        if let name = names[text] { return name }
        let name = FuturesServiceStreamName(text)
        if names.count > 100_000 { names = [:] }
        names[text] = name
        return name
    }
}

/// Something to tell the readers of a stream.
package struct MirroredEvent: Sendable, Equatable {
    package let stream: FuturesServiceStreamName
    package let kind: FeedRecord.Kind
    /// Its place among all events; of a notice of this node's own, that of the newest event.
    package let id: EventID
    /// The data as readers get them.
    package let body: ArraySlice<UInt8>
    /// Whether this node alone says it.
    package let isLocal: Bool

    init(stream: FuturesServiceStreamName, kind: FeedRecord.Kind, id: EventID, body: ArraySlice<UInt8>, isLocal: Bool) {
        (self.stream, self.kind, self.id, self.body, self.isLocal) = (stream, kind, id, body, isLocal)
    }

    /// A notice of this node's own, behind the newest event.
    private init?(_ stream: FuturesServiceStreamName, _ id: EventID, _ kind: FeedRecord.Kind, _ event: FeedEvent.Kind) {
        guard let words = EventEncoder.words(FeedEvent(stream: stream, id: id, kind: event)) else { return nil }
        self.init(stream: stream, kind: kind, id: id, body: words.members[...], isLocal: true)
    }

    static func lost(_ stream: FuturesServiceStreamName, _ id: EventID, _ reason: String) -> Self? {
        Self(stream, id, .disconnected, .disconnected(reason: reason))
    }

    static func back(_ stream: FuturesServiceStreamName, _ id: EventID, _ method: FeedRecovery.Method, downMs: Int64) -> Self? {
        let missed: UInt64? = method == .continuous ? 0 : nil
        return Self(stream, id, .recovered, .recovered(FeedRecovery(error: nil, method: method, downMs: downMs, missed: missed)))
    }

    static func status(_ stream: FuturesServiceStreamName, _ id: EventID, _ state: FeedState) -> Self? {
        Self(stream, id, .status, .status(state, ageMs: nil, unverifiedMs: nil))
    }
}

/// The whole of a stream, from time to time, so that a reader that comes later has it.
package struct Checkpoint: Sendable {
    package var state: FeedState
    package var isLost: Bool
    /// As in an `update`; nil if there is none.
    package var content: FuturesServiceFeedContent?

    package init(state: FeedState, isLost: Bool, content: FuturesServiceFeedContent?) {
        (self.state, self.isLost, self.content) = (state, isLost, content)
    }

    /// `<state> <isLost> <content>`
    package func record(of name: FuturesServiceStreamName) -> FeedRecord {
        let data = content.map { ContentEncoder.event($0) } ?? Array("-".utf8)
        return FeedRecord(.checkpoint, of: name.description, (Array("\(state.rawValue) \(isLost ? 1 : 0) ".utf8) + data)[...])
    }
}

extension MirrorView {
    /// Takes a checkpoint, unless the stream is known better.
    private mutating func restore(_ name: FuturesServiceStreamName, _ body: ArraySlice<UInt8>, _ limit: Int) {
        let parts = body.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count == 3, let state = FeedState(rawValue: String(decoding: parts[0], as: UTF8.self)) else { return }
        if streams[name] == nil {
            streams[name] = MirroredStream(name)
            streams[name]?.state = state
            streams[name]?.isLost = parts[1].elementsEqual("1".utf8)
        }
        guard streams[name]?.isWhole == false, parts[2].count > 1,
            let content = ContentReader.content(Array(parts[2]), of: name)
        else { return }
        streams[name]?.content.take(parts[2], id: content.id, isFull: true, of: name, limit: limit)
        restored.append(name)
    }
}
