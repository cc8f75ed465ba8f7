/// Closes bars before the venue does: by trades, which arrive beside the messages about bars, and by the venue's clock and REST.
extension StreamMachine {
    /// The questions about the end of the open bar.
    struct BarEnd: Sendable {
        var closeTime: Int64?
        /// How often REST was asked since the bar ended.
        var asked = 0
    }

    /// Processes trades of a stream of bars. They change the content, but prove nothing about the venue's own messages, so they do not make it fresh.
    mutating func takeAddition(_ rows: FeedRows, eventTime: Int64?, from slot: Int, _ feed: inout FeedContext) {
        feed.pool.gotData(slot, feed.now.instant)
        let isLive = feed.punctuality.judgesFrom <= feed.now.instant
        guard fault(rows, eventTime: eventTime, isLive: isLive, &feed) == nil else { return }
        guard state == .live, contentID != nil, freshness.outage == nil else { return content.keep(rows) }
        guard let changed = content.update(rows), changed.count > 0 else { return }
        remember(source: .websocket, eventTime: eventTime, feed.now)
        publishContent(.delta, delta: changed, as: .update, &feed)
        passOnClosings(changed, besides: nil, eventTime: eventTime, &feed)
        passBarEnd(&feed)
    }

    /// Asks REST for the newest bars if the open one has ended and no trade of the next one has arrived. Counts how bars were closed.
    mutating func passBarEnd(_ feed: inout FeedContext) {
        if let closings = content.takeClosings() { feed.counters.earlyBars.add(closings) }
        guard let closeTime = content.openBarEnd else { return }
        guard state == .live, let time = feed.upstreams[traits.upstream].clock.time(at: feed.now.instant) else { return }
        if barEnd.closeTime != closeTime { barEnd = BarEnd(closeTime: closeTime) }
        guard barEnd.asked <= Self.mostQuestions else { return }
        // The streams of many symbols ask one after another.
        let patience = Self.barPatience &+ Int64(index % 10) &* 5 &+ 100 &* (1 &<< Int64(barEnd.asked) &- 1)
        let (passed, isAbsurd) = time.subtractingReportingOverflow(closeTime)
        guard !isAbsurd else { return }
        guard passed >= patience else {
            let (left, isAbsurd) = patience.subtractingReportingOverflow(passed)
            return feed.wake(at: feed.now.instant + .milliseconds(isAbsurd ? 3_600_000 : min(max(left, 1), 3_600_000)))
        }
        barEnd.asked += 1
        askWhetherBarEnded(&feed)
        passBarEnd(&feed)
    }

    private mutating func askWhetherBarEnded(_ feed: inout FeedContext) {
        guard traits.hasSnapshotSource, fetching.running == nil, freshness.inquiry == nil,
            feed.upstreams[traits.upstream].rest.admitSpare(traits.inquiryWeight, leaving: feed.configuration.auditReserve, feed.now)
        else { return }
        feed.counters.weight.silences &+= UInt64(clamping: traits.inquiryWeight)
        freshness.inquire(request(.newest, &feed), feed.now.instant)
    }

    /// Closes bars of an answer that had ended when it was requested.
    func closeEnded(_ bars: inout [Kline], askedAt: Instant, _ feed: borrowing FeedContext) {
        guard content.openBarEnd != nil, let time = feed.upstreams[traits.upstream].clock.time(at: askedAt) else { return }
        for place in bars.indices where bars[place].closeTime <= time &- Self.barPatience {
            bars[place].isClosed = true
        }
    }
}
