import FeedCore

@testable import FeedDialects
@testable import MicroHTTP

/// Requests for the venue's own paths, as any client may spell them, answered from contents and from kept bars.
enum MirrorTarget {
    private static let venues = [FuturesVenue.aster, .binance].map { VenueREST(dialect: FuturesDialect(venue: $0, bars: 5, trades: 5)) }
    private static let now: Int64 = 1_795_230_258_864
    private static let contents: [FeedRows] = {
        let minute = now / 60_000
        let value = DecimalString(checked: "1.5")
        let bars: [Kline] = (0..<500).map { (place: Int64) -> Kline in
            let start: Int64 = (minute - 499 + place) * 60_000
            return Kline(
                openTime: start, closeTime: start + 59_999, open: value, high: value, low: value, close: value, volume: value, quoteVolume: value,
                tradeCount: 3, takerBuyVolume: value, takerBuyQuoteVolume: value, isClosed: place < 499)
        }
        let trades: [AggregateTrade] = (1...5).map { (number: UInt64) -> AggregateTrade in
            AggregateTrade(
                id: number, price: value, quantity: value, firstTradeID: number, lastTradeID: number, time: now - 1_000, isBuyerMaker: false)
        }
        return [.kline(bars), .aggregateTrade(trades)]
    }()

    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        guard let target = RequestTarget(String(decoding: input, as: UTF8.self)) else { return }
        for venue in venues {
            guard let (name, answer) = venue.answer(target.segments, target.query, now: now, isListed: { !$0.isEmpty }) else { continue }
            promise(venue.paths.contains(name) || name == "accounts", "\(name) is no path")
            switch answer {
            case .clock(let body): promise(StrictJSON.depth(of: body(now).utf8) != nil, "the clock's answer is no JSON")
            case .refused(let refusal):
                promise(400..<600 ~= refusal.status && refusal.code < 0, "a refusal is \(refusal)")
                promise(StrictJSON.depth(of: refusal.body) == 1, "a refusal is no JSON: \(refusal)")
            case .relay(let relay): check(relay, venue)
            case .stream(let reading):
                check(reading.instead, venue)
                for rows in contents { render(reading, rows, venue) }
            }
        }
    }

    /// What is passed on is one spelling of one request, which the venue reads as it was meant.
    private static func check(_ relay: VenueRelay, _ venue: VenueREST) {
        promise(relay.weight >= 1 && relay.keep.end(from: now) >= now, "\(relay) costs nothing, or is kept for less than no time")
        promise(relay.target.utf8.allSatisfy { 0x20 < $0 && $0 < 0x7F && $0 != 0x23 }, "\(relay.target) has to be escaped")
        guard let target = RequestTarget(relay.target),
            case (_, let again)? = venue.answer(target.segments, target.query, now: now, isListed: { !$0.isEmpty })
        else { return promise(false, "\(relay.target) is no path") }
        let second: VenueRelay? =
            switch again {
            case .relay(let relay): relay
            case .stream(let reading): reading.instead
            case .clock, .refused: nil
            }
        promise(second?.target == relay.target && second?.weight == relay.weight, "\(relay.target) becomes \(second?.target ?? "nothing")")
    }

    private static func render(_ reading: VenueReading, _ rows: FeedRows, _ venue: VenueREST) {
        let content = FuturesServiceFeedContent(
            streamName: reading.name, id: EventID(epoch: 1, sequence: 1), kind: .full, state: .live, source: .websocket, eventTime: nil,
            receivedAt: now, rows: rows)
        for believesSilence in [false, true] {
            let times = VenueTimes(now: now, fetched: nil, believesSilence: believesSilence)
            switch venue.render(reading, content, listing: nil, times, kept: { _ in nil }) {
            case .body(let body, _): promise(StrictJSON.depth(of: body) != nil, "an answer to \(reading.instead.target) is no JSON")
            case .needs(let relays):
                promise(!relays.isEmpty && relays.count <= 5, "\(relays.count) requests for \(reading.instead.target)")
                for relay in relays { check(relay, venue) }
            case .isBehind, .lacks: break
            }
        }
    }
}
