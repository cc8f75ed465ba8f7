/// A table of rows by key. A message changes some of them, so only an answer over REST that was requested while the subscription was active makes the
/// table complete.
enum TablePolicy: StreamPolicy {
    static let messagesArePartial = true

    static func refuted(_ stream: inout StreamMachine, _ feed: inout FeedContext) {
        guard stream.needsAnswerAfterRefutation else { return stream.inquireAfterRefutation(&feed) }
        stream.note(.resync, "a message could not be read", feed.now)
        stream.beginOutage(verifiedAt: stream.freshness.provedAt, &feed)
        stream.fetching.need = .completion
        if stream.fetching.running == nil { stream.fetchAfterRefutation(&feed) }
    }
}
