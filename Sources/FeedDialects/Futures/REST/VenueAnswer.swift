package import FeedCore

/// What a request for one of the venue's own REST paths comes to.
package enum VenueAnswer: Sendable {
    /// Nobody has to be asked; the body follows from the venue's time, ms since 1970 UTC.
    case clock(@Sendable (Int64) -> String)
    /// The venue would refuse it, or the gateway does.
    case refused(VenueRefusal)
    /// A stream has it.
    case stream(VenueReading)
    /// Only the venue has it.
    case relay(VenueRelay)
}

/// A refusal in the venue's shape.
package struct VenueRefusal: Error, Equatable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// The venue's code, such as -1121.
    package let code: Int
    package let message: String
    /// Whether the message stands before the code, as under `/futures/data`.
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

    /// As the venue words it under `/futures/data`.
    var ofHistory: VenueRefusal {
        let quoted = message.split(separator: "'", omittingEmptySubsequences: false)
        var refusal =
            code == -1130 && quoted.count == 3 && quoted[1] != "contractType"
            ? VenueRefusal(status: status, code: code, "parameter '\(quoted[1])' is invalid.") : self
        refusal.isMessageFirst = true
        return refusal
    }

    static let invalidSymbol = VenueRefusal(code: -1121, "Invalid symbol.")
    static let invalidInterval = VenueRefusal(code: -1120, "Invalid interval.")

    static func missing(_ name: String) -> VenueRefusal {
        VenueRefusal(code: -1102, "Mandatory parameter '\(name)' was not sent, was empty/null, or malformed.")
    }

    static func notAnInteger(_ name: String) -> VenueRefusal {
        VenueRefusal(code: -1100, "Illegal characters found in parameter '\(name)'; legal range is '^[0-9]{1,20}$'.")
    }

    static func invalid(_ name: String) -> VenueRefusal { VenueRefusal(code: -1130, "Data sent for parameter '\(name)' is not valid.") }

    /// The venue cannot be asked, or what is here is too old: clients try again.
    package static func unavailable(_ message: String) -> VenueRefusal { VenueRefusal(status: 503, code: -1001, message) }

    /// The gateway has no account at the venue.
    package static let keyed = VenueRefusal(
        status: 401, code: -2014, "This gateway gives out public market data only: leave API keys and signatures out, and send orders to the venue.")

    package static func unknownPath(_ path: String, _ method: String) -> VenueRefusal {
        VenueRefusal(status: 404, code: -5000, "Path \(path), Method \(method) is invalid. This gateway answers the venue's public market data.")
    }
}

/// A request that is passed on to the venue, once for all who ask for the same.
package struct VenueRelay: Hashable, Sendable {
    /// Path and query, in one spelling for all who ask for the same.
    package let target: String
    /// What it costs of the venue's weight.
    package let weight: Int
    /// For how long its answer is kept.
    package let keep: VenueKeep

    package init(target: String, weight: Int, keep: VenueKeep) { (self.target, self.weight, self.keep) = (target, weight, keep) }
}

/// For how long an answer of the venue stays true.
package enum VenueKeep: Hashable, Sendable {
    /// So many ms.
    case milliseconds(Int64)
    /// Until the next multiple of `period` ms. In the first minute after one the venue may still bring in what belongs to the one before, so that
    /// answers are kept for seconds only.
    case period(Int64)
    /// Until the next multiple of a bar's length, ms, at most for ten seconds: the open bar changes.
    case bar(Int64)

    /// Until when, from the venue's time of the answer; both ms since 1970 UTC.
    package func end(from time: Int64) -> Int64 {
        switch self {
        case .milliseconds(let milliseconds): time &+ milliseconds
        case .bar(let length): min(time &- time % length &+ length, time &+ 10_000)
        case .period(let period):
            time % period < min(60_000, period / 2) ? time &+ 5_000 : time &- time % period &+ period
        }
    }
}

/// A request that a stream's content answers.
package struct VenueReading: Sendable {
    package let name: FuturesServiceStreamName
    /// What is asked instead if the stream does not have it, or cannot be trusted.
    package let instead: VenueRelay
    /// What tells the newest bars; nil if no bars are asked for.
    package var newest: VenueRelay?
    let rows: VenueRows
}

/// Which part of a content is asked for.
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

/// The bars that are asked for: the first ones from `start` on, or the last ones, up to `end`; times in ms since 1970 UTC.
struct BarRange: Hashable, Sendable {
    let interval: KlineInterval
    let start: Int64?
    let end: Int64?
    let limit: Int
}

/// Two moments by the venue's clock, ms since 1970 UTC, and what the silence since is taken for.
package struct VenueTimes: Sendable {
    /// This moment.
    package let now: Int64
    /// When the content came over REST; nil if it came as a message.
    package let fetched: Int64?
    /// Whether a bar that has ended is believed to be the newest, because the stream is live and brought no other: nothing was traded since.
    package let believesSilence: Bool

    package init(now: Int64, fetched: Int64?, believesSilence: Bool = false) {
        self.now = now
        self.fetched = fetched
        self.believesSilence = believesSilence
    }
}

/// What a content gives for a reading.
package enum VenueRendering: Sendable {
    /// The body, and the venue's time from which it is out of date; nil if only a change of the stream makes it so.
    case body([UInt8], until: Int64?)
    /// A bar has ended, `since` ms since 1970 UTC, and what follows, or its own last message, has not come.
    case isBehind(since: Int64)
    /// Bars of before the stream's are needed besides.
    case needs([VenueRelay])
    /// The stream does not have it.
    case lacks
}
