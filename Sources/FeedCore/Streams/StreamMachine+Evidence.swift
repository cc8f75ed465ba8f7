/// When a stream may be called `live`: its content is complete, and there is evidence that nothing newer exists. Nothing else makes a stream live.
///
/// | merge rule | complete | evidence | what ends the evidence |
/// |---|---|---|---|
/// | latest value | with one message, or one answer over REST; after an outage, with the next of either that is not older | see docs/read/freshness.md | an unreadable message, until a readable one or REST |
/// | keyed table | with an answer over REST that was asked for while the subscription was active | the same | an unreadable message, until REST; a table that comes whole with each message, until the next one |
/// | messages | the same, and no id is missing | the same | an unreadable message, until the ids behind it join; without ids, until the next message |
/// | book | built from a snapshot and every update since | the same | an unreadable message, until the next update joins |
///
/// Messages and tables without a source over REST are complete as they are. A refused or unreadable answer over REST completes nothing and proves nothing. Neither
/// does one that cannot be true: older than the content that was known when it was asked for (`isOld`), empty or short (`deficiency`, `shortage`).
extension StreamMachine {
    /// Whether the content has every row it should have.
    var isComplete: Bool { policy.isComplete(self) }

    /// Requires a snapshot for rows that the content may have missed, if REST has one.
    mutating func requireCompletion() { fetching.need = traits.needsSnapshot ? .completion : .nothing }

    /// A message or an answer arrived. The stream becomes live if its content is complete. A stalled stream needs a message for that.
    mutating func becomeLive(_ feed: inout FeedContext) {
        guard freshness.outage == nil, freshness.stalls == 0 else { return }
        watch(&feed)
        if isComplete { setState(.live, &feed) }
    }

    /// Whether the content was verified after the subscription became active. If the stream's silence means nothing, nothing could verify it, so the
    /// answer is true.
    var isConfirmedIfPossible: Bool { isConfirmed || traits.rhythm == .sporadic }

    /// Whether the stream has a value that was waiting for confirmation and is confirmed now.
    var isConnecting: Bool {
        guard state == .connecting, contentID != nil, isWholeAfterUpdate else { return false }
        return subscription.isEffective && freshness.outage == nil && freshness.stalls == 0 && isConfirmedIfPossible
    }

    /// The last moment at which the content was verified to be the newest; nil if there is no content.
    ///
    /// A sign of life of the connection counts if the stream's own silence is still plausible.
    func verifiedAt(_ pool: borrowing ConnectionPool) -> Instant? {
        guard contentID != nil else { return nil }
        let proof = freshness.provedAt ?? receivedInstant
        if let outage = freshness.outage { return max(outage.since, proof ?? outage.since) }
        // Only a REST answer verifies a polled stream.
        guard !traits.isPolled, subscription.isEffective, isConfirmed, pool.isOpen(connection), let trusted = freshness.trustedUntil
        else { return proof }
        let heard = min(pool.verifiedAt(index, connection), trusted)
        return max(proof ?? heard, heard)
    }

    /// The phase of the market that the stream describes.
    func market(at instant: Instant, _ feed: borrowing FeedContext) -> MarketPhase {
        let time = feed.upstreams[traits.upstream].clock.time(at: instant) ?? feed.now.wallClock
        return feed.upstreams[traits.upstream].listing?.phase(of: name, at: time) ?? .open
    }

    /// Whether the stream may be silent because its contract is not traded. A polled stream is answered all the same.
    func isIdle(at instant: Instant, _ feed: borrowing FeedContext) -> Bool { !traits.isPolled && market(at: instant, feed) != .open }

    /// Whether the last verification is recent enough for the state `live`.
    func isWithinBound(_ feed: borrowing FeedContext) -> Bool { isWithinBound(at: feed.now.instant, feed) }

    func isWithinBound(at instant: Instant, _ feed: borrowing FeedContext) -> Bool {
        guard let bound = freshness.bound else { return true }
        if let verified = verifiedAt(feed.pool), instant <= verified.after(bound) { return true }
        // An unreadable message, or newer data in REST, shows that there is more.
        let isDoubted = freshness.refuted != nil || freshness.behindSince != nil
        return isIdle(at: instant, feed) && !isDoubted && contentID != nil && feed.pool.isOpen(connection)
    }

    /// Whether the event is a REST answer of a polled stream. Such an answer verifies the content even if it repeats the previous one.
    func isAnswer(eventTime: Int64?) -> Bool { traits.isPolled && eventTime ?? .max >= self.eventTime ?? .min }

    /// Reports a message that cannot be used. It ends the evidence for the content.
    mutating func leaveOut(from slot: Int?, _ words: String, _ feed: inout FeedContext) {
        feed.counters.malformedFrames &+= 1
        publish(.failed(FeedError(.malformed, words), fetch: false), &feed)
        refute(from: slot, &feed)
    }

    /// Reports list rows that cannot be read. The rows of their symbols are removed, because they are no longer current.
    mutating func leaveOut(_ rows: LeftOutRows, _ feed: inout FeedContext) {
        feed.counters.malformedFrames &+= 1
        let symbols = rows.symbols.prefix(3).joined(separator: ", ")
        let words = "\(rows.count) row\(rows.count == 1 ? "" : "s") of \(name) cannot be read and \(rows.count == 1 ? "is" : "are") skipped"
        let message = symbols.isEmpty ? "\(words): \(rows.reason)." : "\(words) (\(symbols)): \(rows.reason)."
        publish(.failed(FeedError(.malformed, message), fetch: false), &feed)
        let unreadable = Set(rows.symbols)
        for symbol in unreadable where leftOutSymbols.count < Self.mostLeftOut { leftOutSymbols.insert(symbol) }
        drop(&feed) { unreadable.contains($0) }
    }

    /// Whether a list of all symbols lacks a row that the venue's answer lacked or that could not be read, and that has not arrived since.
    func lacksRows(_ feed: borrowing FeedContext) -> Bool {
        guard !leftOutSymbols.isEmpty else { return false }
        return leftOutSymbols.contains { feed.upstreams[traits.upstream].listing?.symbols.contains($0) ?? true && !content.has($0) }
    }

    /// Removes rows from a list of all symbols. If any were removed, the list is published.
    mutating func drop(_ feed: inout FeedContext, _ isGone: (String) -> Bool) {
        guard content.drop(isGone), contentID != nil else { return }
        publishContent(.full, delta: nil, as: .update, &feed)
    }

    /// Handles an unreadable message that names no stream. It may belong to this one.
    mutating func leaveOutUnnamed(from slot: Int, _ feed: inout FeedContext) {
        note(.fail, "a message without a stream name could not be read", feed.now)
        refute(from: slot, &feed)
    }

    /// An unreadable message arrived, so something newer than the content exists.
    private mutating func refute(from slot: Int?, _ feed: inout FeedContext) {
        guard state != .ended, !mayHaveCopy(besides: slot, &feed) else { return }
        lines.unreadable = nil
        guard contentID != nil else {
            // An answer that was requested earlier may lack the rows of the message.
            fetching.running?.isRefuted = true
            return
        }
        freshness.refute(feed.now.instant)
        guard freshness.outage == nil, freshness.stalls == 0 else { return }
        policy.refuted(&self, &feed)
    }

    /// Asks REST whether it has newer data than the content.
    mutating func inquireAfterRefutation(_ feed: inout FeedContext) {
        inquire(&feed)
        freshness.lookAt = nil
        watch(&feed)
    }

    /// Requests a snapshot: immediately the first time, then less and less often until a minute passes without an unreadable message.
    mutating func fetchAfterRefutation(_ feed: inout FeedContext) {
        let isFirst = freshness.refutations.attempts == 0
        let delay = freshness.refutations.next(using: &feed.random)
        if isFirst { startFetch(&feed) } else { fetch(at: feed.now.instant + max(delay, feed.configuration.refusedFetchInterval), &feed) }
    }

    /// Whether another line may bring a readable copy of the message. If it does not, the message is lost.
    private mutating func mayHaveCopy(besides slot: Int?, _ feed: inout FeedContext) -> Bool {
        guard let slot, !feed.pool.standingSiblings(index, slot).isEmpty else { return false }
        guard let first = lines.unreadable else {
            lines.unreadable = (slot, feed.now.instant)
            feed.wake(at: feed.now.instant + feed.configuration.linePatience)
            return true
        }
        return first.slot == slot
    }

    /// Checks whether another line has brought a readable copy.
    mutating func passUnreadable(_ feed: inout FeedContext) {
        guard let unreadable = lines.unreadable else { return }
        let until = unreadable.at + feed.configuration.linePatience
        guard until <= feed.now.instant else { return feed.wake(at: until) }
        lines.unreadable = nil
        // The copy may have arrived earlier.
        if let heardAt = freshness.heardAt, freshness.hasMessage, heardAt + feed.configuration.linePatience >= unreadable.at { return }
        refute(from: nil, &feed)
    }

    /// Whether a readable message leaves open which other rows an earlier unreadable one changed.
    var needsAnswerAfterRefutation: Bool { policy.messagesArePartial && traits.hasSnapshotSource && !traits.rhythm.isPeriodic }
}
