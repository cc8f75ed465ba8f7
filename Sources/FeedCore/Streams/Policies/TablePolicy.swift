/// A table of rows by key. A message changes some of them, so only an answer over REST that was requested while the subscription was active makes the
/// table complete.
enum TablePolicy: StreamPolicy {
    static let messagesArePartial = true

    /// A bar whose last message is missing, or a missing bar, shows only when the next one arrives.
    static func message(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        if stream.freshness.outage == nil, stream.fetching.need != .completion, stream.traits.hasSnapshotSource, stream.content.hasHole(before: rows)
        {
            // After a finished bar, the missing ones are probably those of a quiet market. The venue sends no message for them, and REST has them.
            let isQuiet = stream.content.isFinished(before: rows)
            if !isQuiet { stream.loseRows(&feed) }
            stream.requireAnotherSnapshot(for: isQuiet ? .confirmation : .completion, &feed)
        }
        stream.merge(rows, eventTime: eventTime, arrivedAt: arrivedAt, &feed)
        stream.passBarEnd(&feed)
    }

    static func refuted(_ stream: inout StreamMachine, _ feed: inout FeedContext) {
        guard stream.needsAnswerAfterRefutation else { return stream.inquireAfterRefutation(&feed) }
        stream.note(.resync, "a message could not be read", feed.now)
        stream.beginOutage(verifiedAt: stream.freshness.provedAt, &feed)
        stream.fetching.need = .completion
        if stream.fetching.running == nil { stream.fetchAfterRefutation(&feed) }
    }
}
