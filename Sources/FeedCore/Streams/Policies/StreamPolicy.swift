/// The consequences of a merge rule for the life of a stream: when its content is complete, and how messages, snapshots and losses change it.
///
/// There is one policy for each rule. Other code asks the policy and never the rule.
protocol StreamPolicy: Sendable {
    /// Whether each message is the whole content.
    static var isWholeWithEachMessage: Bool { get }
    /// Whether each message continues the one before, so that messages of two subscriptions do not join. If not, newer values replace older ones.
    static var messagesContinue: Bool { get }
    /// Whether a message carries only some of the rows, and does not show whether messages before it were missed.
    static var messagesArePartial: Bool { get }
    /// Whether every message counts, and messages of two feeds or lines can be joined by their ids.
    static var everyMessageCounts: Bool { get }
    /// Whether an answer from before the subscription is used, until a message or another answer confirms it.
    static var usesEarlierAnswer: Bool { get }
    /// The delay between requests that failed.
    static func backoff(_ configuration: FeedCore.Settings) -> Backoff

    /// Whether the content has every row it should have.
    static func isComplete(_ stream: StreamMachine) -> Bool
    /// Applies a message of the stream's subscription.
    static func message(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ stream: inout StreamMachine, _ feed: inout FeedContext)
    /// Applies the answer to a request for a snapshot.
    static func snapshot(
        _ fetched: FetchedContent, _ fetch: StreamMachine.Fetching.Request, isRefuted: Bool, _ stream: inout StreamMachine,
        _ feed: inout FeedContext)
    /// The subscription is active.
    ///
    /// - Parameter wasLost: Whether the stream is in an outage.
    static func confirmed(wasLost: Bool, _ stream: inout StreamMachine, _ feed: inout FeedContext)
    /// The connection or the subscription was lost.
    static func lost(_ stream: inout StreamMachine)
    /// The subscription is active, but expected messages did not arrive.
    ///
    /// - Parameter isProved: Whether it is certain that newer data exists.
    static func stalled(isProved: Bool, _ stream: inout StreamMachine)
    /// An unreadable message arrived, and no outage is reported yet.
    static func refuted(_ stream: inout StreamMachine, _ feed: inout FeedContext)
}

extension StreamPolicy {
    static var isWholeWithEachMessage: Bool { false }
    static var messagesContinue: Bool { false }
    static var messagesArePartial: Bool { false }
    static var everyMessageCounts: Bool { false }
    static var usesEarlierAnswer: Bool { false }

    static func backoff(_ configuration: FeedCore.Settings) -> Backoff { Backoff(base: configuration.fetchBase, cap: configuration.fetchCap) }

    static func isComplete(_ stream: StreamMachine) -> Bool { stream.fetching.need != .completion }

    static func message(_ rows: FeedRows, eventTime: Int64?, arrivedAt: Instant, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        stream.merge(rows, eventTime: eventTime, arrivedAt: arrivedAt, &feed)
    }

    static func snapshot(
        _ fetched: FetchedContent, _ fetch: StreamMachine.Fetching.Request, isRefuted: Bool, _ stream: inout StreamMachine,
        _ feed: inout FeedContext
    ) {
        stream.complete(with: fetched, fetch, isRefuted: isRefuted, &feed)
    }

    static func confirmed(wasLost: Bool, _ stream: inout StreamMachine, _ feed: inout FeedContext) { stream.fetchIfNeeded(&feed) }

    static func lost(_ stream: inout StreamMachine) {}

    static func stalled(isProved: Bool, _ stream: inout StreamMachine) {
        if stream.traits.hasSnapshotSource { stream.fetching.require(isProved ? .completion : .confirmation) }
    }

    static func refuted(_ stream: inout StreamMachine, _ feed: inout FeedContext) { stream.inquireAfterRefutation(&feed) }
}

extension MergeRule {
    var policy: any StreamPolicy.Type {
        switch self {
        case .replace: LatestValuePolicy.self
        case .byKey: TablePolicy.self
        case .append: MessagesPolicy.self
        case .book: BookPolicy.self
        }
    }
}
