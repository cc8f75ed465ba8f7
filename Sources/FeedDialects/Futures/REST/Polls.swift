package import FeedCore

/// The polling of a stream that the venue offers only over REST.
package struct Poll: Sendable {
    /// The time between two polls.
    package let interval: Duration
    /// The requests from which the content is built, in order. A part whose answer is still valid is not requested again.
    package let parts: [VenueRelay]
}

extension FuturesDialect {
    /// How a stream is polled; nil if it is not.
    package func poll(of name: FuturesServiceStreamName, upstream: Int = 0) -> Poll? {
        func part(_ target: String, _ weight: Int = 1, _ keep: VenueKeep = .milliseconds(0)) -> VenueRelay {
            VenueRelay(upstream: upstream, target: target, weight: weight, keep: keep)
        }
        let symbol = "?symbol=" + (name.symbol ?? "").percentEncoded
        switch name.channel {
        case .openInterest:
            let interval: Duration = name.speed == .seconds10 ? .seconds(10) : name.speed == .everyMinute ? .seconds(60) : .seconds(30)
            return Poll(interval: interval, parts: [part("/fapi/v1/openInterest" + symbol)])
        case .fundingRate: return Poll(interval: .seconds(60), parts: [part("/fapi/v1/fundingRate\(symbol)&limit=1")])
        case .longShortRatio:
            let period = name.interval?.rawValue ?? ""
            return Poll(
                interval: .seconds(60), parts: [part("/futures/data/globalLongShortAccountRatio\(symbol)&period=\(period)&limit=1")])
        case .funding:
            return Poll(
                interval: .seconds(30), parts: [part("/fapi/v1/premiumIndex", 10), part("/fapi/v1/fundingInfo", 1, .period(3_600_000))])
        default: return nil
        }
    }

    /// Builds a content from the answers to a poll's parts.
    ///
    /// - Parameter now: The venue's time, ms since 1970 UTC.
    package func content(of name: FuturesServiceStreamName, _ parts: [[UInt8]], now: Int64) -> Result<FetchedContent, FeedError> {
        guard name.channel == .funding else {
            return decodeSnapshot(of: name, RESTAnswer(status: 200, retryAfter: nil, body: parts.first ?? []), now: now)
        }
        guard parts.count == 2 else { return .failure(FeedError(.malformed, "A part of \(name) is missing.")) }
        return FundingTable.content(
            prices: decodeSnapshot(of: .markPrices, RESTAnswer(status: 200, retryAfter: nil, body: parts[0]), now: now), intervals: parts[1])
    }
}

/// Funding of all contracts: the rates of the mark prices, and the payment intervals.
private enum FundingTable {
    typealias Failure = JSONReader.Failure

    private struct Terms {
        var hours: Int64 = 8
        var cap: DecimalString?
        var floor: DecimalString?
    }

    static func content(prices: Result<FetchedContent, FeedError>, intervals: [UInt8]) -> Result<FetchedContent, FeedError> {
        let content: FetchedContent
        switch prices {
        case .failure(let error): return .failure(error)
        case .success(let prices): content = prices
        }
        guard case .markPrice(let rows) = content.rows else { return .failure(FeedError(.malformed, "The venue's mark prices cannot be read.")) }
        let terms: [String: Terms]
        do throws(Failure) { terms = try read(intervals) } catch {
            return .failure(FeedError(.malformed, "The venue's funding intervals cannot be read: \(error.reason) at byte \(error.offset)."))
        }
        let text = write(rows, terms)
        return .success(FetchedContent(rows: .json([JSONRow(checked: text)]), eventTime: rows.map(\.time).min()))
    }

    private static func read(_ intervals: [UInt8]) throws(Failure) -> [String: Terms] {
        let read = intervals.withUnsafeBufferPointer { bytes in
            Result { () throws(Failure) in
                var terms: [String: Terms] = [:]
                var reader = JSONReader(bytes)
                try reader.array { (reader) throws(Failure) in
                    let fields = try RESTFields(&reader)
                    let hours = try fields.integer("fundingIntervalHours", Int64.self)
                    guard (1...24).contains(hours) else { throw reader.failure("an interval is not from 1 to 24 hours") }
                    terms[try fields.symbol()] = Terms(
                        hours: hours, cap: try fields.optionalDecimal("adjustedFundingRateCap"),
                        floor: try fields.optionalDecimal("adjustedFundingRateFloor"))
                }
                try reader.end()
                return terms
            }
        }
        return try read.get()
    }

    /// Writes the rows. Contracts without funding are omitted. The list of intervals contains only those other than eight hours (docs/reference/venues.md §3).
    private static func write(_ rows: [MarkPrice], _ terms: [String: Terms]) -> String {
        var writer = JSONWriter(capacity: 256 * rows.count)
        writer.object { json in
            json.member("from")
            json.array { json in for part in ["premiumIndex", "fundingInfo"] { json.string(part) } }
            json.member("rows")
            json.array { json in
                for row in rows where row.nextFundingTime != nil {
                    let terms = terms[row.symbol] ?? Terms()
                    json.object {
                        $0.member("symbol", row.symbol)
                        $0.member("rate", optional: row.lastFundingRate)
                        $0.member("intervalHours", terms.hours)
                        $0.member("annualised", optional: row.lastFundingRate.flatMap { annual($0, hours: terms.hours) })
                        $0.member("nextFundingTime", optional: row.nextFundingTime)
                        $0.member("cap", optional: terms.cap)
                        $0.member("floor", optional: terms.floor)
                        $0.member("markPrice", row.markPrice)
                        $0.member("time", row.time)
                    }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The annual rate for 365 days, without compounding, to eight decimals.
    private static func annual(_ rate: DecimalString, hours: Int64) -> DecimalString? {
        guard let scaled = rate.scaled else { return nil }
        let (year, isTooLarge) = scaled.multipliedReportingOverflow(by: ScaledNumber(8_760 / hours))
        guard !isTooLarge else { return nil }
        let digits = "\((year / 10_000_000_000).magnitude)"
        let padded = String(repeating: "0", count: max(0, 9 - digits.count)) + digits
        return DecimalString((year < 0 ? "-" : "") + padded.dropLast(8) + "." + padded.suffix(8))
    }
}
