package import FeedCore
import FeedDialects
import Rings

/// The state of an upstream at the ingest.
package struct UpstreamGauges: Sendable, Equatable {
    /// The request weight used in the current clock minute, and the upstream's limit.
    package var weight = (used: 0, limit: 0)
    /// How much longer the upstream asked for no REST requests, ms.
    package var restPauseMs: Int64 = 0
    /// How far the upstream's clock is ahead of the ingest's, ms; nil if that is unknown.
    package var aheadMs: Int64?

    package init(weight: (used: Int, limit: Int) = (0, 0), restPauseMs: Int64 = 0, aheadMs: Int64? = nil) {
        (self.weight, self.restPauseMs, self.aheadMs) = (weight, restPauseMs, aheadMs)
    }

    package static func == (one: Self, other: Self) -> Bool {
        one.weight == other.weight && one.restPauseMs == other.restPauseMs && one.aheadMs == other.aheadMs
    }
}

/// The state of the ingest and the upstreams, written to the log regularly.
package struct IngestGauges: Sendable, Equatable {
    /// By name; the first upstream has an empty one, because every node knows it without a prefix.
    package var upstreams: [String: UpstreamGauges] = [:]
    /// The lines to upstreams.
    package var lines: [LineStatus] = []

    package init() {}

    package static func == (one: Self, other: Self) -> Bool {
        one.upstreams == other.upstreams
            && one.lines.map { [$0.upstream, $0.line, $0.open, $0.connections] }
                == other.lines.map { [$0.upstream, $0.line, $0.open, $0.connections] }
    }

    /// The first upstream's members are those of the whole object.
    package var record: FeedRecord {
        FeedRecord(
            .gauges, of: "-",
            EventEncoder.object { json in
                Self.write(upstreams[""] ?? UpstreamGauges(), &json)
                let others = upstreams.filter { !$0.key.isEmpty }.sorted { $0.key < $1.key }
                if !others.isEmpty {
                    json.member("others")
                    json.array { json in
                        for (name, gauges) in others {
                            json.object {
                                $0.member("name", name)
                                Self.write(gauges, &$0)
                            }
                        }
                    }
                }
                json.member("lines")
                json.array { json in
                    for line in lines {
                        json.object {
                            $0.member("upstream", line.upstream)
                            $0.member("line", line.line)
                            $0.member("open", line.open)
                            $0.member("connections", line.connections)
                        }
                    }
                }
            }[...])
    }

    private static func write(_ gauges: UpstreamGauges, _ json: inout JSONWriter) {
        json.member("weight", gauges.weight.used)
        json.member("weightLimit", gauges.weight.limit)
        json.member("restPauseMs", gauges.restPauseMs)
        json.member("venueAheadMs", optional: gauges.aheadMs)
    }

    private static func upstream(_ fields: RowFields) throws(RowFields.Failure) -> UpstreamGauges {
        var gauges = UpstreamGauges()
        gauges.weight = (try fields.integer("weight", 0...mostWeight), try fields.integer("weightLimit", 0...mostWeight))
        gauges.restPauseMs = try fields.integer("restPauseMs", 0...UTCTime.longestWait)
        if try fields.optionalInteger("venueAheadMs") as Int64? != nil {
            gauges.aheadMs = try fields.integer("venueAheadMs", -UTCTime.latest...UTCTime.latest)
        }
        return gauges
    }

    /// The upper bounds of counts, so that sums cannot overflow.
    private static let (mostLines, mostWeight) = (1_000_000, 1_000_000_000)

    init?(_ body: ArraySlice<UInt8>) {
        let mostLines = Self.mostLines
        let read: Self? = RowFields.read(body) { (fields) throws(RowFields.Failure) in
            var gauges = Self()
            gauges.upstreams[""] = try Self.upstream(fields)
            let others = try fields.list("others") { (fields) throws(RowFields.Failure) in (try fields.string("name"), try Self.upstream(fields)) }
            for (name, read) in others ?? [] { gauges.upstreams[name] = read }
            gauges.lines =
                try fields.list("lines") { (line) throws(RowFields.Failure) in
                    LineStatus(
                        upstream: try line.integer("upstream", 0...mostLines), line: try line.integer("line", 0...mostLines),
                        open: try line.integer("open", 0...mostLines),
                        connections: try line.integer("connections", 0...mostLines))
                } ?? []
            return gauges
        }
        guard let read else { return nil }
        self = read
    }
}

/// A venue's listing as a log record.
package enum ListingRecord {
    /// - Parameter upstream: The name of the upstream; empty for the first one, whose record has the subject `-`.
    package static func record(_ listing: VenueListing, of upstream: String = "") -> FeedRecord {
        FeedRecord(
            .listing, of: upstream.isEmpty ? "-" : upstream,
            EventEncoder.object { json in
                json.member("symbols")
                write(listing.symbols, &json)
                json.member("settled")
                write(listing.settled, &json)
                json.member("halted")
                write(listing.halted, &json)
                write(listing.markets, listing.closures, &json)
                json.member("assetIndices")
                write(listing.assetIndices, &json)
                json.member("weightLimit", optional: listing.weightLimit.map(Int64.init))
                json.member("simulated", Int64(listing.isSimulated ? 1 : 0))
            }[...])
    }

    private static func write(_ markets: [String: String], _ closures: [String: [Range<Int64>]], _ json: inout JSONWriter) {
        json.member("markets")
        json.array { json in
            for (symbol, market) in markets.sorted(by: { $0.key < $1.key }) {
                json.object {
                    $0.member("symbol", symbol)
                    $0.member("market", market)
                }
            }
        }
        json.member("closures")
        json.array { json in
            for (market, times) in closures.sorted(by: { $0.key < $1.key }) {
                for time in times {
                    json.object {
                        $0.member("market", market)
                        $0.member("start", time.lowerBound)
                        $0.member("end", time.upperBound)
                    }
                }
            }
        }
    }

    private static func write(_ symbols: Set<String>, _ json: inout JSONWriter) {
        json.array { json in for symbol in symbols.sorted() { json.string(symbol) } }
    }

    /// The name of the upstream to which a record with this subject belongs; empty for the first one.
    static func upstream(_ subject: String) -> String { subject == "-" ? "" : subject }

    static func listing(_ body: ArraySlice<UInt8>) -> VenueListing? {
        RowFields.read(body) { (fields) throws(RowFields.Failure) in
            var listing = VenueListing(
                symbols: Set(try fields.strings("symbols")), settled: Set(try fields.strings("settled")),
                assetIndices: Set(try fields.strings("assetIndices")), weightLimit: try fields.optionalInteger("weightLimit"))
            let simulated: Int? = try fields.optionalInteger("simulated")
            listing.isSimulated = simulated == 1
            if fields["halted"] != nil { listing.halted = Set(try fields.strings("halted")) }
            let markets = try fields.list("markets") { (row) throws(RowFields.Failure) in (try row.string("symbol"), try row.string("market")) }
            for (symbol, market) in markets ?? [] { listing.markets[symbol] = market }
            let closures = try fields.list("closures") { (row) throws(RowFields.Failure) in
                let (start, end): (Int64, Int64) = (try row.integer("start"), try row.integer("end"))
                return (try row.string("market"), start, end)
            }
            for (market, start, end) in closures ?? [] where start < end { listing.closures[market, default: []].append(start..<end) }
            return listing
        }
    }
}

/// Incidents of a stream: each once when it occurs, and all of them regularly.
package enum IncidentsRecord {
    package static func record(_ incidents: [StreamIncident], of name: FuturesServiceStreamName) -> FeedRecord {
        var json = JSONWriter()
        json.array(incidents)
        return FeedRecord(.incidents, of: name.description, json.bytes[...])
    }

    static func incidents(_ body: ArraySlice<UInt8>) -> [StreamIncident] {
        let told: [StreamIncident?]? = RowFields.readList(body) { (fields) throws(RowFields.Failure) in
            guard let kind = StreamIncident.Kind(rawValue: try fields.string("kind")) else { return nil }
            return StreamIncident(at: try fields.integer("at"), kind: kind, detail: try fields.string("detail"))
        }
        return (told ?? []).compactMap(\.self)
    }
}

/// Streams whose content was verified without an event: `<name> <ms since 1970 UTC> …`.
package enum VerifiedRecord {
    /// - Parameter times: The times of verification, ms since 1970 UTC by the ingest's clock.
    package static func records(_ times: [(name: FuturesServiceStreamName, at: Int64)]) -> [FeedRecord] {
        stride(from: 0, to: times.count, by: most).map { start in
            let words = times[start..<min(times.count, start + most)].map { "\($0.name) \(String($0.at, radix: 36))" }
            return FeedRecord(.verified, of: "-", Array(words.joined(separator: " ").utf8)[...])
        }
    }

    static func read(_ body: ArraySlice<UInt8>, _ take: (String, Int64) -> Void) {
        let words = body.split(separator: UInt8(ascii: " "))
        for place in stride(from: 0, to: words.count - 1, by: 2) {
            guard let time = UInt64(base36: words[place + 1]) else { continue }
            take(String(decoding: words[place], as: UTF8.self), Int64(clamping: time))
        }
    }
}

/// The part before the rows of an event's content, which suffices for most questions about a stream.
package struct ContentHead: Sendable, Equatable {
    package let state: FeedState
    package let source: FeedSource
    /// By the upstream's clock and by the ingest's, ms since 1970 UTC.
    package let eventTime: Int64?
    package let receivedAt: Int64

    /// Nil if the body is not a content written by `ContentEncoder`.
    package init?(_ body: ArraySlice<UInt8>) {
        var (state, source, eventTime, receivedAt): (FeedState?, FeedSource?, Int64?, Int64?) = (nil, nil, nil, nil)
        body.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONReader.Failure) {
                try reader.object { (reader, name) throws(JSONReader.Failure) in
                    // The rows follow, which are not needed.
                    if name.isText("content") { throw reader.failure("the head is incomplete") }
                    let text = try reader.raw()
                    if name.isText("state") { state = FeedState(rawValue: Self.string(text)) }
                    if name.isText("source") { source = FeedSource(rawValue: Self.string(text)) }
                    if name.isText("eventTime") { eventTime = Int64(digits: text) }
                    if name.isText("receivedAt") { receivedAt = Int64(digits: text) }
                }
            } catch {}
        }
        guard let state, let source, let receivedAt else { return nil }
        (self.state, self.source, self.eventTime, self.receivedAt) = (state, source, eventTime, receivedAt)
    }

    private static func string(_ text: UnsafeBufferPointer<UInt8>) -> String { String(decoding: text.dropFirst().dropLast(), as: UTF8.self) }
}

/// The data of events without content.
package enum MirroredWords {
    /// The error of a `fail`.
    package static func error(_ body: ArraySlice<UInt8>) -> FeedError? {
        RowFields.read(body) { (fields) throws(RowFields.Failure) in
            guard let error = try fields.object("error"), let code = FeedError.Code(rawValue: try error.string("code")) else { return nil }
            return FeedError(
                code, try error.string("message"), venueCode: try error.optionalInteger("venueCode"),
                retryAfterMs: try error.optionalInteger("retryAfterMs").map { min(max($0, 0), UTCTime.longestWait) })
        }
    }

    /// The state of a `status`.
    static func state(_ body: ArraySlice<UInt8>) -> FeedState? {
        RowFields.read(body) { (fields) throws(RowFields.Failure) in FeedState(rawValue: try fields.string("state")) }
    }

    /// The reason of a `disconnect`.
    package static func reason(_ body: ArraySlice<UInt8>) -> String? {
        RowFields.read(body) { (fields) throws(RowFields.Failure) in try fields.optionalString("reason") }
    }

    /// The duration of a `recover`.
    package static func downMs(_ body: ArraySlice<UInt8>) -> Int64? {
        RowFields.read(body) { (fields) throws(RowFields.Failure) in try fields.optionalInteger("downMs") }
    }

    /// A `recover` with at least this duration, ms.
    package static func lengthened(_ body: ArraySlice<UInt8>, downMs: Int64) -> ArraySlice<UInt8> {
        // The encoder escapes quotes in strings, so a member's name occurs nowhere else.
        guard let told = Self.downMs(body), told < downMs, let name = body.firstRange(of: Array(#""downMs":"#.utf8)) else { return body }
        let rest = body[name.upperBound...].drop { $0 == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return (body[..<name.upperBound] + Array(String(downMs).utf8) + rest)[...]
    }
}
