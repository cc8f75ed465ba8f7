/// When a stream may be called `live`: its content is complete, and there is evidence that nothing newer exists. Nothing else makes a stream live.
///
/// | merge rule | complete | evidence | what ends the evidence |
/// |---|---|---|---|
/// | latest value | with one message, or one answer over REST | see docs/read/freshness.md | an unreadable message, until a readable one or REST |
/// | keyed table | with an answer over REST that was asked for while the subscription was active | the same | an unreadable message, until REST; a table that comes whole with each message, until the next one |
/// | messages | the same, and no id is missing | the same | an unreadable message, until the ids behind it join; without ids, until the next message |
/// | book | built from a snapshot and every update since | the same | an unreadable message, until the next update joins |
///
/// A stream without a source over REST is complete as it is. A refused or unreadable answer over REST completes nothing and proves nothing.
extension FeedCore {
    /// Whether the content has every row it should have.
    func isComplete(_ index: Int) -> Bool {
        guard let stream = streams[index] else { return false }
        switch stream.rule {
        case .replace: return true
        case .book: return stream.content.book.map { $0.stands || ($0.isQuiet && stream.fetching.need != .completion) } ?? false
        case .byKey, .append:
            if case .running = stream.fetching.backfill { return false }
            return stream.fetching.need != .completion
        }
    }

    /// Requires a snapshot for rows that the content may have missed, if REST has one.
    mutating func requireCompletion(_ index: Int) {
        let need: StreamState.Fetching.Need = streams[index]?.traits.hasSnapshotSource == true ? .completion : .nothing
        streams[index]?.fetching.need = need
    }

    /// A message or an answer arrived. The stream becomes live if its content is complete. A stalled stream needs a message for that.
    mutating func becomeLive(_ index: Int) {
        guard streams[index]?.freshness.outage == nil, streams[index]?.freshness.stalls == 0 else { return }
        watch(index)
        if isComplete(index) { setState(index, .live) }
    }

    /// The last moment at which the content was verified to be the newest; nil if there is no content.
    ///
    /// A sign of life of the connection counts if the stream's own silence is still plausible.
    func verifiedAt(_ index: Int) -> Instant? {
        guard let stream = streams[index], stream.contentID != nil else { return nil }
        let proof = stream.freshness.provedAt ?? stream.receivedInstant
        if let outage = stream.freshness.outage { return max(outage.since, proof ?? outage.since) }
        // Only a REST answer verifies a polled stream.
        guard !stream.traits.isPolled, stream.subscription.isEffective, stream.isConfirmed, pool.isOpen(stream.connection),
            let trusted = stream.freshness.trustedUntil
        else { return proof }
        let heard = min(pool.verifiedAt(index, stream.connection), trusted)
        return max(proof ?? heard, heard)
    }

    /// Whether the last verification is recent enough for the state `live`.
    func isWithinBound(_ index: Int) -> Bool {
        guard let bound = streams[index]?.freshness.bound else { return true }
        return verifiedAt(index).map { now.instant <= $0.after(bound) } ?? false
    }

    /// Whether the event is a REST answer of a polled stream. Such an answer verifies the content even if it repeats the previous one.
    func isAnswer(_ index: Int, eventTime: Int64?) -> Bool {
        guard let stream = streams[index], stream.traits.isPolled else { return false }
        return eventTime ?? .max >= stream.eventTime ?? .min
    }

    /// Reports a message that cannot be used. It ends the evidence for the content.
    mutating func leaveOut(_ index: Int, from slot: Int?, _ words: String) {
        counters.malformedFrames &+= 1
        publish(index, .failed(FeedError(.malformed, words), fetch: false))
        refute(index, from: slot)
    }

    /// Reports list rows that cannot be read. The rows of their symbols are removed, because they are no longer current.
    mutating func leaveOut(_ index: Int, _ rows: LeftOutRows) {
        guard let name = streams[index]?.name else { return }
        counters.malformedFrames &+= 1
        let symbols = rows.symbols.prefix(3).joined(separator: ", ")
        let words = "\(rows.count) row\(rows.count == 1 ? "" : "s") of \(name) cannot be read and \(rows.count == 1 ? "is" : "are") skipped"
        let message = symbols.isEmpty ? "\(words): \(rows.reason)." : "\(words) (\(symbols)): \(rows.reason)."
        publish(index, .failed(FeedError(.malformed, message), fetch: false))
        let unreadable = Set(rows.symbols)
        drop(index) { unreadable.contains($0) }
    }

    /// Removes rows from a list of all symbols. If any were removed, the list is published.
    mutating func drop(_ index: Int, _ isGone: (String) -> Bool) {
        guard streams[index]?.content.drop(isGone) == true, streams[index]?.contentID != nil else { return }
        publishContent(index, kind: .full, delta: nil, as: FeedEvent.Kind.updated)
    }

    /// Handles an unreadable message that names no stream. It may belong to any stream of its connection.
    mutating func leaveOut(from slot: Int) {
        counters.malformedFrames &+= 1
        for line in [slot] + pool.connections[slot].siblings {
            for member in pool.connections[line].members where line == slot || pool.carries(slot, member.index) {
                note(member.index, .fail, "a message without a stream name could not be read")
                refute(member.index, from: slot)
            }
        }
    }

    /// An unreadable message arrived, so something newer than the content exists.
    private mutating func refute(_ index: Int, from slot: Int?) {
        guard let stream = streams[index], stream.state != .ended, !mayHaveCopy(index, besides: slot) else { return }
        streams[index]?.lines.unreadable = nil
        guard stream.contentID != nil else {
            // An answer that was requested earlier may lack the rows of the message.
            streams[index]?.fetching.running?.isRefuted = true
            return
        }
        streams[index]?.freshness.refute(now.instant)
        guard stream.freshness.outage == nil, stream.freshness.stalls == 0 else { return }
        if stream.needsAnswerAfterRefutation {
            note(index, .resync, "a message could not be read")
            beginOutage(index, verifiedAt: stream.freshness.provedAt)
            streams[index]?.fetching.need = .completion
            if stream.fetching.running == nil { fetchAfterRefutation(index) }
        } else if stream.rule == .append, stream.content.ids == nil {
            note(index, .stale, "a message could not be read, and the next one does not repeat its data")
            let since = stream.freshness.provedAt ?? now.instant
            streams[index]?.freshness.stalls = 1
            streams[index]?.freshness.beginOutage(now.instant, since: since, lastID: nil, awaitsMessage: true)
            setState(index, .stale)
        } else {
            inquire(index)
            streams[index]?.freshness.lookAt = nil
            watch(index)
        }
    }

    /// Requests a snapshot: immediately the first time, then less and less often until a minute passes without an unreadable message.
    mutating func fetchAfterRefutation(_ index: Int) {
        let isFirst = streams[index]?.freshness.refutations.attempts == 0
        let delay = streams[index]?.freshness.refutations.next(using: &random) ?? .zero
        if isFirst { startFetch(index) } else { fetch(index, at: now.instant + max(delay, configuration.refusedFetchInterval)) }
    }

    /// Whether another line may bring a readable copy of the message. If it does not, the message is lost.
    private mutating func mayHaveCopy(_ index: Int, besides slot: Int?) -> Bool {
        guard let slot, !pool.standingSiblings(index, slot).isEmpty else { return false }
        guard let first = streams[index]?.lines.unreadable else {
            streams[index]?.lines.unreadable = (slot, now.instant)
            wake(at: now.instant + configuration.linePatience)
            return true
        }
        return first.slot == slot
    }

    /// Checks whether another line has brought a readable copy.
    mutating func passDeadlines(unreadableOf index: Int) {
        guard let stream = streams[index], let unreadable = stream.lines.unreadable else { return }
        let until = unreadable.at + configuration.linePatience
        guard until <= now.instant else { return wake(at: until) }
        streams[index]?.lines.unreadable = nil
        // The copy may have arrived earlier.
        if let heardAt = stream.freshness.heardAt, stream.freshness.hasMessage, heardAt + configuration.linePatience >= unreadable.at { return }
        refute(index, from: nil)
    }
}

extension StreamState {
    /// Whether a readable message leaves open which other rows an earlier unreadable one changed.
    var needsAnswerAfterRefutation: Bool { self.rule == .byKey && self.traits.hasSnapshotSource && !self.traits.rhythm.isPeriodic }
}
