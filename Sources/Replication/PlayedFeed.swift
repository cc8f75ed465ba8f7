package import FeedCore
import Rings

/// One record of a feed's log, with the time at which it was received.
package struct PlayedRecord: Sendable, Equatable {
    /// The record alone, in a message of its own.
    package let message: LogMessage
    /// When it was received, ms since 1970 UTC.
    package let at: Int64
    /// Whether something is missing before it.
    package let isBroken: Bool

    package init(_ message: LogMessage, at: Int64, isBroken: Bool) { (self.message, self.at, self.isBroken) = (message, at, isBroken) }

    package var kind: FeedRecord.Kind? { message.records.first?.kind }
}

/// The records of a past feed, in order.
package protocol RecordSource {
    /// The next record; nil at the end.
    mutating func next() throws -> PlayedRecord?
}

/// A feed of the past as its readers saw it, played from its log record by record.
///
/// Times are the past's own: `now` counts from any start by the clock of the past, and ages are measured against it.
package struct PlayedFeed: Sendable {
    package enum Effect: Sendable, Equatable {
        /// Append the event to the stream's ring.
        case tell(EncodedEvent)
        /// Send the message to readers of the venue's sockets.
        case passOn(VenueMessage)
        /// The stream's content is complete now. Readers that have none need it.
        case restored(FuturesServiceStreamName)
        /// Something is missing. Readers that have data from before need new snapshots.
        case beginAnew

        /// Whether messages of a stream are missing here, so that its sockets are closed.
        package var losesMessages: Bool { if case .passOn(let message) = self { message.text == nil } else { false } }
    }

    private let limit: @Sendable (FuturesServiceStreamName) -> Int
    private var view = MirrorView()
    /// The number of the last event before the first one that readers can have.
    package private(set) var floor: UInt64 = 0

    /// - Parameter limit: How many rows or levels of a stream are kept.
    package init(limit: @escaping @Sendable (FuturesServiceStreamName) -> Int) { self.limit = limit }

    /// Processes the next record.
    ///
    /// - Parameter now: The time of the past.
    package mutating func take(_ record: PlayedRecord, now: Instant) -> [Effect] {
        let message = record.message
        var effects: [Effect] = []
        if record.isBroken, view.epochs.current != nil { beginAnew(EpochTable(), &effects) }
        let isFirst = view.epochs.current == nil
        switch view.epochs.judge(message, inOrder: true) {
        case .isVoid, .isDoubtful: return effects
        case .breaks: beginAnew(view.epochs, &effects)
        case .counts: break
        case .begins where !isFirst: begin(message, now, &effects)
        case .begins: break
        }
        if isFirst || floor == 0 { floor = message.first - 1 }
        guard message.claim == nil else { return effects }
        effects += view.apply(message, now, isOfThePast: false, limit: limit).map { .tell($0) }
        effects += view.messages.map { .passOn($0) }
        effects += view.restored.map { .restored($0) }
        view.restored.removeAll()
        return effects
    }

    /// The recorded gateway was restarted: sockets were closed then.
    private mutating func begin(_ claim: LogMessage, _ now: Instant, _ effects: inout [Effect]) {
        for name in view.streams.keys.sorted(by: { $0.description < $1.description }) where name.isHarmedByLoss {
            effects.append(.passOn(VenueMessage(stream: name, text: nil)))
        }
        view.beginEpoch(claim, now)
    }

    private mutating func beginAnew(_ epochs: EpochTable, _ effects: inout [Effect]) {
        let (listings, lists, clock) = (view.listings, view.venueLists, view.clock)
        view = MirrorView()
        (view.epochs, view.listings, view.venueLists, view.clock) = (epochs, listings, lists, clock)
        floor = 0
        effects.append(.beginAnew)
    }

    /// Forgets the streams, because something is missing before the next record.
    package mutating func breakOff() -> [Effect] {
        var effects: [Effect] = []
        if view.epochs.current != nil { beginAnew(EpochTable(), &effects) }
        return effects
    }

    /// Applies the lists of symbols of a record that is played later, if there are none yet of their upstreams.
    package mutating func takeLists(ahead record: PlayedRecord) {
        for list in record.message.records {
            let upstream = ListingRecord.upstream(list.subject)
            let isKnown = list.kind == .listing ? listings[upstream] != nil : venueLists[upstream] != nil
            if !isKnown { view.takeList(list) }
        }
    }

    /// Readers begin here: they cannot have earlier events.
    package mutating func begin() { floor = view.epochs.head }

    /// The id of the newest event; zero before any event.
    package var head: EventID { view.epochs.headID ?? EventID(epoch: 0, sequence: 0) }
    /// The valid epochs.
    package var epochs: EpochTable { view.epochs }
    package var streams: [FuturesServiceStreamName: MirroredStream] { view.streams }
    /// The clock of the times in contents.
    package var clock: WriterClock { view.clock }
    /// The upstreams' state as the gateway saw it; nil if the recording has none.
    package var gauges: IngestGauges? { view.gauges }
    /// The listings by the name of the upstream; the first one has an empty name.
    package var listings: [String: VenueListing] { view.listings }
    /// The venues' own lists of symbols, likewise, as JSON.
    package var venueLists: [String: ArraySlice<UInt8>] { view.venueLists }

    /// The stream's complete content; nil if there is none.
    package mutating func content(of name: FuturesServiceStreamName) -> FuturesServiceFeedContent? {
        view.streams[name]?.content.content(of: name, limit: limit(name))
    }
}
