/// One symbol's book, kept equal to the venue's by update ids (docs/reference/venues.md §5; the futures rule, which is not the spot rule).
///
/// Events are buffered first, then a snapshot is requested. Events before the snapshot are dropped. An event covers the changes after `pu` up to `u`.
/// The first event to apply must enclose the snapshot: `pu <= lastUpdateId <= u`. This includes the venue's rule (`U <= lastUpdateId <= u`), its
/// known exception (`pu == lastUpdateId`), and a quiet symbol whose next event begins after its snapshot. The `pu` of each further event must equal
/// the previous `u`. Anything else, or a crossed book, means that an update was lost: the book is rebuilt.
struct OrderBook: Sendable {
    enum Outcome: Equatable, Sendable {
        /// Held back until a snapshot arrives; if `isFirst`, one must be requested.
        case buffered(isFirst: Bool)
        /// The event joins the buffered events to the waiting snapshot: the book is complete.
        case built
        /// The book includes the update now.
        case applied
        /// The book includes the update, and the levels of the snapshot that was ahead of the stream.
        case refreshed
        /// The book's snapshot already included the update, which no message had brought so far.
        case included
        /// The update was received before.
        case repeated
        /// An update was lost; the event starts a new buffer.
        case lost(String)
    }

    enum Adoption: Equatable, Sendable {
        /// The book is complete, and the buffered events are applied.
        case built
        /// The complete book stays complete. It has the snapshot's levels now, or needs none of them.
        case refreshed
        /// The complete book takes the snapshot's levels when the stream reaches the snapshot.
        case ahead
        /// The buffered events do not reach the snapshot yet, or there are none; the snapshot waits for them.
        case waiting
        /// The snapshot is older than the first buffered event.
        case tooOld
        /// An update was lost among the buffered events.
        case lost(String)
    }

    private enum Phase: Sendable {
        /// No snapshot yet.
        case buffering([DepthLevels])
        /// A snapshot that no buffered event reaches yet.
        case waiting(DepthLevels)
        case standing
    }

    // A call of an accessor that is not inlined copies the book's values.
    private var phase = Phase.buffering([])
    private var bids: BookSide
    private var asks: BookSide
    /// The preparation for a snapshot that brings the complete book deeper levels.
    private struct Refill: Sendable {
        /// The updates applied since the book became thin or the snapshot was requested. They are applied again on top of the snapshot.
        var events: [DepthLevels] = []
        var isRequested = false
        /// The snapshot, if the stream has not reached it.
        var snapshot: DepthLevels?
    }

    private var refill = Refill()
    private(set) var lastUpdateID: UInt64 = 0
    /// The last update that a message brought, if the complete book has the levels of a later snapshot.
    private var streamedID: UInt64?
    private(set) var time: Int64 = 0
    private var symbol = ""
    /// Whether the levels come only from a snapshot adopted since the book was reset.
    private var isAsFetched = false

    /// - Parameter limit: How many levels of a side are kept and published.
    init(limit: Int) {
        bids = BookSide(isBid: true, limit: limit)
        asks = BookSide(isBid: false, limit: limit)
    }

    @inline(__always)
    var stands: Bool {
        if case .standing = phase { true } else { false }
    }

    /// Whether the levels are a snapshot without any later event.
    var isQuiet: Bool {
        if case .waiting(let snapshot) = phase { isAsFetched && snapshot.lastUpdateID == lastUpdateID } else { false }
    }

    /// Whether the event repeats part of the book or directly follows it. A book that is not complete accepts any event.
    func isContinued(by event: DepthLevels) -> Bool {
        !stands || event.lastUpdateID <= position || event.previousUpdateID == position
    }

    /// The last update of the stream.
    @inline(__always)
    private var position: UInt64 { streamedID ?? lastUpdateID }

    /// Whether the market has moved away from the snapshot, so that a new one is needed.
    @inline(__always)
    var isThin: Bool { stands && (bids.isThin || asks.isThin) }

    /// The number of published levels per side. A side also keeps deeper ones, which no snapshot has shown.
    var levelCounts: (bids: Int, asks: Int) { (bids.publishedCount, asks.publishedCount) }

    /// The whole book, best levels first, at most `depth` levels per side.
    func levels(depth: Int = .max) -> DepthLevels {
        DepthLevels(symbol: symbol, bids: bids.best(depth), asks: asks.best(depth), lastUpdateID: lastUpdateID, time: time)
    }

    /// The part of an event that is published. Levels deeper than the last snapshot are removed, because their list would have gaps.
    func told(of event: DepthLevels) -> DepthLevels {
        if event.bids.allSatisfy(bids.reaches), event.asks.allSatisfy(asks.reaches) { return event }
        var told = event
        told.bids.removeAll { !bids.reaches($0) }
        told.asks.removeAll { !asks.reaches($0) }
        return told
    }

    /// A description of where this book differs from another one at the same update; nil if the parts that both know completely are equal.
    func difference(from other: OrderBook) -> String? {
        guard lastUpdateID == other.lastUpdateID else { return nil }
        return bids.difference(from: other.bids).map { "bid " + $0 } ?? asks.difference(from: other.asks).map { "ask " + $0 }
    }

    /// Starts over: the next event begins a new buffer. The old levels and their update id stay visible until new ones arrive.
    mutating func reset() {
        refill = Refill()
        streamedID = nil
        isAsFetched = false
        phase = .buffering([])
    }

    /// Shows levels from before this book began, until the book is complete.
    mutating func recall(_ levels: DepthLevels) {
        show(levels)
        reset()
    }

    /// A snapshot is requested: a complete book keeps the updates from now on, so that it can take the snapshot's levels.
    mutating func awaitRefill() { refill.isRequested = stands }

    /// The snapshot did not arrive, or cannot be used. A thin book still keeps its updates, for the next snapshot.
    mutating func abandonRefill() { refill = Refill(events: isThin ? refill.events : []) }

    mutating func receive(_ event: DepthLevels) -> Outcome {
        switch phase {
        case .buffering(var events):
            if let last = events.last, event.lastUpdateID <= last.lastUpdateID, event.time <= last.time { return .repeated }
            phase = .buffering([])
            if let last = events.last, event.previousUpdateID != last.lastUpdateID { events = [] }
            Self.keep(event, in: &events)
            phase = .buffering(events)
            return .buffered(isFirst: events.count == 1)
        case .waiting(let snapshot):
            return join(event, to: snapshot)
        case .standing:
            return follow(event)
        }
    }

    /// Joins an event to the snapshot that waits for it.
    private mutating func join(_ event: DepthLevels, to snapshot: DepthLevels) -> Outcome {
        if event.lastUpdateID < snapshot.lastUpdateID, snapshot.time > 0, event.time > snapshot.time {
            return restart(
                with: event, "update \(event.lastUpdateID) came after the snapshot \(snapshot.lastUpdateID): the venue restarted its numbering")
        }
        phase = .buffering([event])
        return switch adopt(snapshot) {
        case .built, .refreshed: .built
        case .waiting, .ahead: .buffered(isFirst: false)
        case .tooOld: restart(with: event, "the snapshot is older than the stream")
        case .lost(let reason): restart(with: event, reason)
        }
    }

    /// Applies an event to the complete book.
    private mutating func follow(_ event: DepthLevels) -> Outcome {
        if event.lastUpdateID <= position {
            guard event.time > time else { return .repeated }
            return restart(with: event, "update \(event.lastUpdateID) came after \(position): the venue restarted its numbering")
        }
        guard event.previousUpdateID == position else {
            return restart(with: event, "update \(event.previousUpdateID.map(String.init) ?? "none") was expected to be \(position)")
        }
        if streamedID != nil, event.lastUpdateID <= lastUpdateID {
            streamedID = event.lastUpdateID < lastUpdateID ? event.lastUpdateID : nil
            keepForRefill(event)
            return .included
        }
        let joins = streamedID != nil
        streamedID = nil
        if mayCross(event) {
            let before = standing(at: event)
            apply(event)
            if isCrossed {
                takeBack(before)
                return restart(with: event, "the book is crossed")
            }
        } else {
            apply(event)
        }
        keepForRefill(event)
        guard let snapshot = refill.snapshot else { return joins ? .built : .applied }
        return switch deepen(with: snapshot) {
        case .lost(let reason): restart(with: event, reason)
        case .ahead: joins ? .built : .applied
        default: .refreshed
        }
    }

    private mutating func keepForRefill(_ event: DepthLevels) {
        if refill.isRequested || !refill.events.isEmpty || isThin { Self.keep(event, in: &refill.events) }
    }

    /// Adds an event to the events that wait for a snapshot. Of many, the older half is dropped: a snapshot that is yet to be sent includes it.
    private static func keep(_ event: DepthLevels, in events: inout [DepthLevels]) {
        if events.count >= bufferLimit { events.removeFirst(events.count / 2) }
        events.append(event)
    }

    /// Takes the levels of a snapshot into the complete book, which stays complete.
    private mutating func deepen(with snapshot: DepthLevels) -> Adoption {
        // The update ids are those of all symbols, so in a quiet market no update may ever reach a snapshot that is ahead. It is right if it agrees.
        if snapshot.lastUpdateID > lastUpdateID, snapshot.compared(with: levels()) != .same {
            refill.snapshot = snapshot
            return .ahead
        }
        let events = refill.events.drop { $0.lastUpdateID <= snapshot.lastUpdateID }
        let isJoined = events.first.map { ($0.previousUpdateID ?? .max) <= snapshot.lastUpdateID } ?? (snapshot.lastUpdateID >= lastUpdateID)
        guard isJoined else {
            abandonRefill()
            return .refreshed
        }
        let before = self
        show(snapshot)
        for event in events { apply(event) }
        isAsFetched = false
        streamedID = lastUpdateID > before.position ? before.position : nil
        refill = Refill()
        return settle(as: .refreshed, or: before)
    }

    /// Ends an adoption, unless it crossed the book. Then the book is lost, and keeps its earlier levels.
    private mutating func settle(as adoption: Adoption, or before: OrderBook) -> Adoption {
        guard isCrossed else {
            bids.keepHandedOut()
            asks.keepHandedOut()
            return adoption
        }
        self = before
        reset()
        return .lost("the book is crossed")
    }

    /// Processes a snapshot. A complete book does not depend on it: it is newer than the snapshot, or will be after the events that the snapshot
    /// includes.
    mutating func adopt(_ snapshot: DepthLevels) -> Adoption {
        let events: [DepthLevels]
        switch phase {
        case .standing: return deepen(with: snapshot)
        case .waiting(let known):
            guard known.lastUpdateID <= snapshot.lastUpdateID else { return .waiting }
            events = []
        case .buffering(let buffered): events = buffered
        }
        if snapshot.isCrossed { return .tooOld }
        let relevant = events.drop { $0.lastUpdateID < snapshot.lastUpdateID }
        guard let first = relevant.first else {
            phase = .waiting(snapshot)
            if events.isEmpty { show(snapshot) }
            return .waiting
        }
        guard let previous = first.previousUpdateID, previous <= snapshot.lastUpdateID else { return .tooOld }
        let before = self
        show(snapshot)
        phase = .standing
        for (position, event) in relevant.enumerated() {
            if position > 0, event.previousUpdateID != lastUpdateID {
                let reason = "an update is missing between \(lastUpdateID) and \(event.lastUpdateID)"
                self = before
                reset()
                return .lost(reason)
            }
            // The snapshot already includes an event that ends at it.
            if event.lastUpdateID > snapshot.lastUpdateID { apply(event) }
        }
        return settle(as: .built, or: before)
    }

    private mutating func show(_ snapshot: DepthLevels) {
        bids.replaceAll(snapshot.bids)
        asks.replaceAll(snapshot.asks)
        symbol = snapshot.symbol
        lastUpdateID = snapshot.lastUpdateID
        time = snapshot.time
        isAsFetched = true
    }

    private mutating func restart(with event: DepthLevels, _ reason: String) -> Outcome {
        reset()
        phase = .buffering([event])
        return .lost(reason)
    }

    /// The levels that an event replaced.
    private struct Replaced {
        let bids: [PriceLevel]
        let asks: [PriceLevel]
        let lastUpdateID: UInt64
        let time: Int64
    }

    private mutating func apply(_ event: DepthLevels) {
        bids.apply(event.bids)
        asks.apply(event.asks)
        lastUpdateID = event.lastUpdateID
        time = event.time
        isAsFetched = false
    }

    /// The levels that an event is about to replace.
    private func standing(at event: DepthLevels) -> Replaced {
        Replaced(bids: event.bids.map(bids.standing), asks: event.asks.map(asks.standing), lastUpdateID: lastUpdateID, time: time)
    }

    /// Whether an event may cross the book. Most events move no price that far, so the levels they replace need not be stored.
    private func mayCross(_ event: DepthLevels) -> Bool {
        var (bid, ask) = (bids.bestPrice ?? .min, asks.bestPrice ?? .max)
        for level in event.bids where level.isComparable { bid = max(bid, level.scaledPrice) }
        for level in event.asks where level.isComparable { ask = min(ask, level.scaledPrice) }
        return bid >= ask
    }

    /// Restores the book as it was before an event, so that wrong levels are never shown.
    private mutating func takeBack(_ replaced: Replaced) {
        bids.apply(replaced.bids)
        asks.apply(replaced.asks)
        lastUpdateID = replaced.lastUpdateID
        time = replaced.time
    }

    private var isCrossed: Bool {
        guard let bid = bids.bestPrice, let ask = asks.bestPrice else { return false }
        return bid >= ask
    }
}
