package import FeedCore

/// How to answer a request for one of the venue's own REST paths.
package enum VenueAnswer: Sendable {
    /// Locally: the body depends only on the venue's time, ms since 1970 UTC.
    case clock(@Sendable (Int64) -> String)
    /// With a refusal, by the venue's rules or the gateway's.
    case refused(VenueRefusal)
    /// From a stream.
    case stream(VenueReading)
    /// With a request to the venue.
    case relay(VenueRelay)
}

/// A refusal in the venue's format.
package struct VenueRefusal: Error, Equatable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// The venue's code, such as -1121.
    package let code: Int
    package let message: String
    /// Whether the message precedes the code, as under `/futures/data`.
    private var isMessageFirst = false

    package init(status: Int = 400, code: Int, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    /// `{"code":-1121,"msg":"Invalid symbol."}`
    package var body: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            if isMessageFirst { $0.member("msg", message) }
            $0.member("code", code)
            if !isMessageFirst { $0.member("msg", message) }
        }
        return writer.bytes
    }

    /// The refusal in the venue's wording under `/futures/data`.
    var ofHistory: VenueRefusal {
        let quoted = message.split(separator: "'", omittingEmptySubsequences: false)
        var refusal =
            code == -1130 && quoted.count == 3 && quoted[1] != "contractType"
            ? VenueRefusal(status: status, code: code, "parameter '\(quoted[1])' is invalid.") : self
        refusal.isMessageFirst = true
        return refusal
    }

    static let invalidSymbol = VenueRefusal(code: -1121, "Invalid symbol.")
    static let reversedTimes = VenueRefusal(code: -1023, "Start time is greater than end time.")
    static let invalidInterval = VenueRefusal(code: -1120, "Invalid interval.")

    static func missing(_ name: String) -> VenueRefusal {
        VenueRefusal(code: -1102, "Mandatory parameter '\(name)' was not sent, was empty/null, or malformed.")
    }

    static func notAnInteger(_ name: String) -> VenueRefusal {
        VenueRefusal(code: -1100, "Illegal characters found in parameter '\(name)'; legal range is '^[0-9]{1,20}$'.")
    }

    static func invalid(_ name: String) -> VenueRefusal { VenueRefusal(code: -1130, "Data sent for parameter '\(name)' is not valid.") }

    /// The venue cannot be asked, or the local data is too old: clients retry.
    package static func unavailable(_ message: String) -> VenueRefusal { VenueRefusal(status: 503, code: -1001, message) }

    /// The gateway has no account at the venue.
    package static let keyed = VenueRefusal(
        status: 401, code: -2014, "This gateway gives out public market data only: leave API keys and signatures out, and send orders to the venue.")

    package static func unknownPath(_ path: String, _ method: String) -> VenueRefusal {
        VenueRefusal(status: 404, code: -5000, "Path \(path), Method \(method) is invalid. This gateway answers the venue's public market data.")
    }
}

/// A request to pass on to a venue, once for all identical requests.
package struct VenueRelay: Hashable, Sendable {
    /// The venue, in the order of the dialect's upstreams.
    package let upstream: Int
    /// Path and query, in one spelling for all identical requests.
    package let target: String
    /// The body of a POST; nil for a GET.
    package let body: String?
    /// Its request weight at the venue.
    package let weight: Int
    /// How long its answer is kept.
    package let keep: VenueKeep

    package init(upstream: Int, target: String, body: String? = nil, weight: Int, keep: VenueKeep) {
        (self.upstream, self.target, self.body, self.weight, self.keep) = (upstream, target, body, weight, keep)
    }

    /// The same request to another venue.
    package func sent(to upstream: Int) -> VenueRelay { VenueRelay(upstream: upstream, target: target, body: body, weight: weight, keep: keep) }
}

/// How long an answer of the venue stays valid.
package enum VenueKeep: Hashable, Sendable {
    /// This many ms.
    case milliseconds(Int64)
    /// Until the next multiple of `period` ms. In the first minute of a period, the venue may still add data of the previous one, so answers are kept
    /// for only five seconds.
    case period(Int64)
    /// Until a bar of this length, ms, ends, but at most ten seconds, because the open bar changes.
    case bar(Int64)
    /// The same, but at most one second, because a stream shows the changes of the bar.
    case streamedBar(Int64)

    /// The end of the validity, from the venue's time of the answer; both ms since 1970 UTC.
    package func end(from time: Int64) -> Int64 {
        switch self {
        case .milliseconds(let milliseconds): time &+ milliseconds
        case .bar(let length): min(Self.barEnd(length, after: time), time &+ 10_000)
        case .streamedBar(let length): min(Self.barEnd(length, after: time), time &+ 1_000)
        case .period(let period):
            time % period < min(60_000, period / 2) ? time &+ 5_000 : time &- time % period &+ period
        }
    }

    /// The earliest possible end of the open bar. A bar of several days begins at midnight, but not at a multiple of its length: a week begins on
    /// Monday.
    private static func barEnd(_ length: Int64, after time: Int64) -> Int64 {
        let length = min(length, 86_400_000)
        return time &- time % length &+ length
    }
}

extension VenueKeep {
    /// How long an answer is valid at any time of the venue, ms.
    package var atLeast: Int64 {
        switch self {
        case .milliseconds(let milliseconds): milliseconds
        case .period, .bar: 5_000
        case .streamedBar: 1_000
        }
    }

    /// The end of an answer's validity. An answer that is empty, or that lacks the newest row of its period, is asked for again soon.
    package func end(of body: [UInt8], from time: Int64) -> Int64 {
        let isEmpty = body.count < 16 && body.allSatisfy { $0 <= 0x20 || $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        return isEmpty || lacksNewest(body, at: time) ? min(end(from: time), time &+ 10_000) : end(from: time)
    }

    private func lacksNewest(_ body: [UInt8], at time: Int64) -> Bool {
        guard case .period(let period) = self else { return false }
        let text = String(decoding: body.suffix(400), as: UTF8.self)
        guard let place = text.ranges(of: "\"timestamp\":").last?.upperBound else { return false }
        let digits = text[place...].drop { $0 == "\"" || $0 == " " }.prefix { $0.isASCII && $0.isNumber }
        return Int64(digits).map { $0 < time &- time % period } ?? true
    }
}

/// A request that a stream's content answers.
package struct VenueReading: Sendable {
    /// How many of the requested levels a book may lack, because the market has reached some of them since the venue's snapshot.
    package enum MissingLevels: Sendable {
        case none
        /// A tenth of the deepest snapshot.
        case tenth
        case any
    }

    package private(set) var name: FuturesServiceStreamName
    /// The request to send if the stream does not have the data, or is not reliable.
    package let instead: VenueRelay
    /// The request for the newest bars; nil if no bars are requested.
    package var newest: VenueRelay?
    let rows: VenueRows
    package var missingLevels = MissingLevels.none

    /// The same with bars that are closed before the venue closes them, if it is about bars that a stream has.
    package var early: VenueReading { name.early.map { from($0) } ?? self }

    /// The same from another stream with the same rows.
    package func from(_ name: FuturesServiceStreamName) -> VenueReading {
        var reading = self
        reading.name = name
        return reading
    }
}

/// The requested part of a content.
enum VenueRows: Sendable {
    case premiumIndex(symbol: String?)
    case ticker(symbol: String?)
    case price(symbol: String?)
    case bookTicker(symbol: String?)
    case assetIndex(symbol: String?)
    case depth(limit: Int)
    case bars(BarRange)
    case trades(limit: Int, from: UInt64?, start: Int64?, end: Int64?)
}

/// The requested bars: the first ones from `start` on, or the last ones, up to `end`; times in ms since 1970 UTC.
struct BarRange: Hashable, Sendable {
    let interval: KlineInterval
    let start: Int64?
    let end: Int64?
    let limit: Int
}

/// Two times by the venue's clock, ms since 1970 UTC, and the meaning of the silence since.
package struct VenueTimes: Sendable {
    /// The current time.
    package let now: Int64
    /// When the content was received over REST; nil if it arrived as a message.
    package let fetched: Int64?
    /// Whether an ended bar counts as the newest, because the stream is live and brought no later one: there were no trades since.
    package let believesSilence: Bool

    package init(now: Int64, fetched: Int64?, believesSilence: Bool = false) {
        self.now = now
        self.fetched = fetched
        self.believesSilence = believesSilence
    }
}

/// The result of rendering a content for a request.
package enum VenueRendering: Sendable {
    /// The body, and the venue's time at which it becomes outdated; nil if only a change of the stream outdates it.
    case body([UInt8], until: Int64?)
    /// A bar ended at `since`, ms since 1970 UTC, but its last message or the next bar has not arrived.
    case isBehind(since: Int64)
    /// Bars from before the stream's first one are also needed.
    case needs([VenueRelay])
    /// The stream does not have the data.
    case lacks
}
