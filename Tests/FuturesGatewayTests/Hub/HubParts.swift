import FeedCore
import FuturesFeed
import MicroHTTP
import Testing

@testable import FuturesGateway

/// Contents, statuses and times for the tests of the hub's parts.
enum HubParts {
    static let name = FuturesServiceStreamName.bookTicker(symbol: "BTCUSDT")

    static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    static func content(_ sequence: UInt64, symbol: String = "BTCUSDT") throws -> FuturesServiceFeedContent {
        let one = try #require(DecimalString("1"))
        let row = BookTicker(
            symbol: symbol, bidPrice: one, bidQuantity: one, askPrice: one, askQuantity: one, updateID: sequence, time: Int64(sequence))
        return FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 1, sequence: sequence), kind: .full, state: .live, source: .websocket, eventTime: nil, receivedAt: 0,
            rows: .bookTicker([row]))
    }

    static func status(_ state: FeedState = .live, ageMs: Int64 = 0) -> StreamStatus {
        StreamStatus(
            name: name, state: state, contentID: nil, isWhole: true, ageMs: ageMs, unverifiedMs: ageMs, source: .websocket, isConnected: true,
            observers: 1)
    }
}
