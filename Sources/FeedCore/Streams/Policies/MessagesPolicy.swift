/// Every message counts. Missing messages are fetched by their ids; if that is not possible, the stream starts over with a snapshot.
enum MessagesPolicy: StreamPolicy {
    static let messagesContinue = true
    static let everyMessageCounts = true

    static func isComplete(_ stream: StreamMachine) -> Bool {
        if case .running = stream.fetching.backfill { return false }
        return stream.fetching.need != .completion
    }

    static func message(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        // Only rows of the stream's own type count as news.
        guard stream.content.carries(rows) else { return stream.leaveOutOtherData(&feed) }
        // A message that shows that others are missing proves nothing about the time before it.
        let provedAt = stream.freshness.provedAt
        if let newest = rows.ids?.upperBound, newest > stream.content.lastID ?? 0 { stream.hearNews(of: arrivedAt, &feed) }
        stream.subscriptionConfirmed(&feed)
        if stream.hold(rows, eventTime: eventTime, arrivedAt: arrivedAt, &feed) { return }
        if rows.ids != nil, !stream.content.beginsAnew, !stream.content.isContinued(by: rows) {
            loseMessages(verifiedAt: provedAt, &stream, &feed)
            if stream.hold(rows, eventTime: eventTime, arrivedAt: arrivedAt, &feed) { return }
        }
        stream.merge(rows, eventTime: eventTime, arrivedAt: arrivedAt, &feed)
    }

    /// Handles missing messages. They are fetched if possible. If not, the next message starts over and a snapshot fills the gap.
    private static func loseMessages(verifiedAt moment: Instant?, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        stream.note(.resync, "messages are missing", feed.now)
        stream.beginOutage(verifiedAt: moment, &feed)
        stream.keepForBackfill()
        if case .possible = stream.fetching.backfill { return stream.startBackfill(&feed) }
        if stream.traits.hasSnapshotSource { stream.requireAnotherSnapshot(&feed) }
    }

    static func confirmed(wasLost: Bool, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        if stream.fetching.isNeeded, case .none = stream.fetching.backfill { stream.content.beginGeneration() }
        stream.fetchIfNeeded(&feed)
        // The outage has already told readers that messages without numbers may be missing.
        if wasLost, stream.needsNoSnapshot, stream.freshness.outage?.awaitsMessage == false { stream.freshness.forgetRefutation() }
    }

    static func stalled(isProved: Bool, _ stream: inout StreamMachine) {}

    static func refuted(_ stream: inout StreamMachine, _ feed: inout FeedContext) {
        guard stream.content.ids == nil else { return stream.inquireAfterRefutation(&feed) }
        stream.note(.stale, "a message could not be read, and the next one does not repeat its data", feed.now)
        let since = stream.freshness.provedAt ?? feed.now.instant
        stream.freshness.stalls = 1
        stream.freshness.beginOutage(feed.now.instant, since: since, lastID: nil, awaitsMessage: true)
        stream.setState(.stale, &feed)
    }
}
