/// A stream as the feed before this one left it.
package struct InheritedStream: Sendable {
    package let name: FuturesServiceStreamName
    /// The complete content; nil if there was none.
    package let content: FuturesServiceFeedContent?
    /// Whether readers were told of an outage that goes on.
    package let isLost: Bool

    package init(name: FuturesServiceStreamName, content: FuturesServiceFeedContent?, isLost: Bool) {
        (self.name, self.content, self.isLost) = (name, content, isLost)
    }
}

extension FeedCore {
    /// Goes on with what another feed left: every stream is in an outage since the other was heard last, and recovers as after any other.
    ///
    /// - Parameters:
    ///   - reason: why the streams are in an outage, for readers.
    ///   - sequence: the next event has the number after it.
    ///   - observer: wants all of them, until somebody says who does.
    ///   - instant: when the other feed was heard last.
    package mutating func inherit(
        _ inherited: [InheritedStream], because reason: String, behind sequence: UInt64, for observer: ObserverID, heardAt instant: Instant,
        now: Moment
    ) -> [FeedEffect] {
        self.now = now
        self.sequence = sequence
        for stream in inherited {
            observe(observer, [stream.name], forceFetch: false)
            guard let index = indices[stream.name] else { continue }
            if let content = stream.content { restore(index, content) }
            streams[index]?.audience.isConnected = false
            if !stream.isLost { publish(index, .disconnected(reason: reason)) }
            beginOutage(index, verifiedAt: instant)
        }
        sendControl()
        defer { decisions.effects = [] }
        return decisions.effects
    }

    /// Its rows bind nobody, but missed trades can be filled behind the last one.
    private mutating func restore(_ index: Int, _ content: FuturesServiceFeedContent) {
        guard streams[index]?.content.recall(content.rows) == true else { return }
        streams[index]?.contentID = content.id
        streams[index]?.source = content.source
        streams[index]?.eventTime = content.eventTime
        streams[index]?.receivedAt = content.receivedAt
        let isNeeded = streams[index]?.fetching.isNeeded ?? false
        streams[index]?.fetching.isNeeded = false
        keepForBackfill(index)
        if case .possible? = streams[index]?.fetching.backfill { return }
        streams[index]?.fetching.isNeeded = isNeeded
        streams[index]?.content.beginGeneration()
    }
}
