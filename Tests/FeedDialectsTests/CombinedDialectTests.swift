import FeedCore
import Testing

@testable import FeedDialects

/// Several upstreams behind one dialect.
@Suite struct CombinedDialectTests {
    /// An upstream whose streams are endpoints by their numbers.
    private struct Numbered: Dialect {
        func traits(of name: FuturesServiceStreamName) -> StreamTraits? {
            Int(name.local).map { StreamTraits(endpoint: $0, hasSnapshotSource: false, rhythm: .sporadic, limit: 1) }
        }
        var catalogue: [CatalogueEntry] { [] }
        func route(endpoint: Int, host: Int) -> UpstreamRoute { .webSocket(url: "ws://\(endpoint)") }
        func session(endpoint: Int, subprotocol: String?) -> any DialectSession { FuturesSession(FuturesDialect(venue: .aster)) }
        func snapshotRequest(of name: FuturesServiceStreamName, from: UInt64?, host: Int, now: Int64) -> RESTRequest? { nil }
        func decodeSnapshot(of name: FuturesServiceStreamName, _ answer: RESTAnswer, now: Int64) -> Result<FetchedContent, FeedError> {
            .failure(FeedError(.malformed, ""))
        }
    }

    private static let numbered = (upstream: Upstream(name: "numbered"), dialect: Numbered() as any Dialect)
    private static let binance = (
        upstream: Upstream(name: "binance", venue: "binance"), dialect: FuturesDialect(venue: .binance, prefix: "binance") as any Dialect
    )

    private static func dialect(_ others: [(upstream: Upstream, dialect: any Dialect)]) -> CombinedDialect {
        CombinedDialect(venue: FuturesDialect(venue: .aster), others: others)
    }

    @Test(
        arguments: [("-1", nil), ("0", 32), ("15", 47), ("16", nil), ("-9223372036854775808", nil), ("9223372036854775807", nil)] as [(String, Int?)])
    func anEndpointOutsideItsRangeIsNoneOfAnotherUpstream(_ stream: String, _ endpoint: Int?) throws {
        let name = try #require(FuturesServiceStreamName(upstream: "numbered", stream: stream))
        let dialect = Self.dialect([Self.binance, Self.numbered])
        #expect(dialect.traits(of: name)?.endpoint == endpoint)
        guard let endpoint else { return }
        #expect(dialect.upstream(of: endpoint) == 2 && dialect.upstream(of: name) == 2)
    }

    @Test func aVenueHasTheSameNameInTheLogWhateverItsPlace() throws {
        let (one, other) = (Self.dialect([Self.binance, Self.numbered]), Self.dialect([Self.numbered, Self.binance]))
        #expect(one.logName(of: 1) == "binance" && other.upstream(logName: "binance") == 2 && one.upstream(logName: "binance") == 1)
        #expect(one.logName(of: 0).isEmpty && one.upstream(logName: "") == 0 && one.upstream(logName: "aster") == nil)
        #expect(one.logName(of: 7).isEmpty && one.upstream(logName: "nasdaq") == nil)
        #expect(one.venueREST(of: 1)?.prefix == "binance" && one.venueREST(of: 2) == nil && one.venueREST(of: -1) == nil)
    }

    @Test func aSessionOfASecondVenueWritesAndReadsTheVenuesOwnNames() throws {
        let name = try #require(FuturesServiceStreamName("binance:btcusdt@aggTrade"))
        let bars = try #require(FuturesServiceStreamName("binance:btcusdt@bar_1s"))
        let dialect = Self.dialect([Self.binance])
        let endpoint = try #require(dialect.traits(of: name)?.endpoint)
        let session = dialect.session(endpoint: endpoint, subprotocol: nil)
        #expect(session.subscribe([name, bars], request: 7) == [#"{"method":"SUBSCRIBE","params":["btcusdt@aggTrade"],"id":7}"#])
        let frame = #"{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade","E":2,"s":"BTCUSDT","a":5,"p":"1.5","q":"2","f":1,"l":1,"T":1,"m":true}}"#
        var read: [FuturesServiceStreamName] = []
        session.receive(Array(frame.utf8).span) { if case .event(.rows(let name, _, _)) = $0 { read.append(name) } }
        #expect(Set(read) == [name, bars])
        // A name with a prefix on the wire is none of the venue's.
        let foreign = frame.replacing("btcusdt@aggTrade", with: "binance:btcusdt@aggTrade")
        read = []
        session.receive(Array(foreign.utf8).span) { if case .event(.rows(let name, _, _)) = $0 { read.append(name) } }
        #expect(read.isEmpty)
    }
}
