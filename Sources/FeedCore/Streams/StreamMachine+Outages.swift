/// The life of an outage: the loss of the connection, the report to readers, and the recovery.
extension StreamMachine {
    /// Handles the loss of the stream's connection: publishes `disconnect`, and begins an outage.
    ///
    /// - Parameter moment: The last moment at which the content was verified; nil to use the time at which the connection was last heard.
    mutating func lose(reason: String, verifiedAt moment: Instant?, _ feed: inout FeedContext) {
        let wasConnected = audience.isConnected
        subscription = .none(again: nil)
        freshness.lose()
        ahead = nil
        fetching.running?.followsSubscription = false
        audit.running = nil
        // Messages that waited for another line follow a gap. The backfill fetches them with the rest.
        lines = Lines()
        policy.lost(&self)
        keepForBackfill()
        content.outliveConnection()
        if wasConnected != false {
            audience.isConnected = false
            publish(.disconnected(reason: reason), &feed)
        }
        guard wasConnected == true else { return }
        beginOutage(verifiedAt: moment, &feed)
    }

    /// - Parameter moment: The last moment at which the content was verified; nil to use the time at which its connection was last heard.
    mutating func beginOutage(verifiedAt moment: Instant?, _ feed: inout FeedContext) {
        let since = moment ?? feed.pool.connections[connection].lastHeard
        freshness.beginOutage(feed.now.instant, since: since, lastID: content.lastID)
        if freshness.outage?.awaitsMessage == false { setState(.recovering, &feed) }
    }

    /// Ends the outage and publishes one `recover` event with its cost.
    ///
    /// - Parameter ids: The ids of the content that ends it, which show how many messages were missed; nil if messages have no ids.
    mutating func endOutage(with ids: ClosedRange<UInt64>? = nil, _ feed: inout FeedContext) {
        var missed: UInt64?
        if let before = freshness.outage?.lastID, let ids, ids.upperBound >= before {
            missed = ids.lowerBound > before ? ids.lowerBound - before - 1 : 0
        }
        endOutage(by: missed == 0 ? .continuous : .snapshot, missed: missed, &feed)
    }

    mutating func endOutage(by method: FeedRecovery.Method, missed: UInt64?, _ feed: inout FeedContext) {
        guard let outage = freshness.outage, !outage.awaitsMessage else { return }
        // After the report of a failure, readers receive no second `recover`.
        if let recovery = freshness.endOutage(feed.now.instant, by: method, missed: missed) {
            feed.counters.recoveries &+= 1
            feed.counters.missedMessages &+= missed ?? 0
            publish(.recovered(recovery), &feed)
        }
        if method != .continuous { passOnLoss(afterMs: feed.now.instant.milliseconds(since: outage.since), &feed) }
    }

    /// Reports once that the outage could not be ended. The recovery attempts continue.
    mutating func reportOutage(_ error: FeedError, attempts: Int, _ feed: inout FeedContext) {
        let failure = StreamSubscriberRecoverError(reason: error, attempts: attempts)
        guard let recovery = freshness.reportOutage(feed.now.instant, failure) else { return }
        feed.counters.failedRecoveries &+= 1
        publish(.recovered(recovery), &feed)
        setState(.failed, &feed)
    }
}
