/// An order book: a snapshot and every update since. `StreamMachine+Books.swift` builds it, and `StreamMachine+Audit.swift` compares it with REST.
enum BookPolicy: StreamPolicy {
    static let messagesContinue = true
    static let usesEarlierAnswer = true

    static func backoff(_ configuration: FeedCore.Settings) -> Backoff { Backoff(base: configuration.resyncBase, cap: configuration.resyncCap) }

    static func isComplete(_ stream: StreamMachine) -> Bool {
        if stream.content.book?.stands == true { return true }
        return stream.content.book?.isQuiet == true && stream.fetching.need != .completion
    }

    static func message(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        guard case .depth(let levels) = rows else { return stream.leaveOutOtherData(&feed) }
        for event in levels { stream.updateBook(event, eventTime: eventTime, arrivedAt: arrivedAt, &feed) }
    }

    static func snapshot(
        _ fetched: FetchedContent, _ fetch: StreamMachine.Fetching.Request, isRefuted: Bool, _ stream: inout StreamMachine,
        _ feed: inout FeedContext
    ) {
        guard case .depth(let levels) = fetched.rows, let snapshot = levels.first else { return stream.refuseOtherData(&feed) }
        let follows = fetch.followsSubscription && !isRefuted
        stream.completeBook(snapshot, eventTime: fetched.eventTime, fetch, follows, &feed)
    }

    /// The first update requests the snapshot.
    static func confirmed(wasLost: Bool, _ stream: inout StreamMachine, _ feed: inout FeedContext) {}

    /// The connection's own backoff delays the next snapshot, so the book does not have to wait twice.
    static func lost(_ stream: inout StreamMachine) { stream.fetching.backoff.reset() }

    static func stalled(isProved: Bool, _ stream: inout StreamMachine) {
        guard isProved else { return }
        stream.content.beginGeneration()
        if stream.traits.hasSnapshotSource { stream.fetching.require(.completion) }
    }
}
