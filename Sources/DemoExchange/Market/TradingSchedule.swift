/// When the markets behind contracts on metals and shares trade: the same hours every weekday, in UTC.
struct TradingSchedule {
    let now: Int64

    struct Session: Equatable {
        let start: Int64
        let end: Int64
        let type: String
    }

    enum Market: String, CaseIterable {
        case equity = "EQUITY"
        case commodity = "COMMODITY"

        /// The event of the stream `tradingSession`.
        var event: String { self == .equity ? "EquityUpdate" : "CommodityUpdate" }

        /// The minutes of a weekday at which its sessions end.
        fileprivate var weekday: [(type: String, end: Int64)] {
            switch self {
            case .equity: [("OVERNIGHT", 540), ("PRE_MARKET", 870), ("REGULAR", 1_260), ("AFTER_MARKET", 1_440)]
            case .commodity: [("REGULAR", 1_320), ("NO_TRADING", 1_440)]
            }
        }
    }

    /// The session now in progress.
    func current(_ market: Market) -> Session {
        let today = sessions(market, on: now / Interval.day)
        return today.first { now < $0.end } ?? today[today.count - 1]
    }

    /// The reply of `tradingSchedule`: a week that starts yesterday.
    var json: String {
        let markets = Market.allCases.map { market in
            let week = (now / Interval.day - 1)..<(now / Interval.day + 6)
            let rows = week.flatMap { sessions(market, on: $0) }.map { session in
                #"{"startTime":\#(session.start),"endTime":\#(session.end),"type":"\#(session.type)"}"#
            }
            return #""\#(market.rawValue)":{"sessions":[\#(rows.joined(separator: ","))]}"#
        }
        return #"{"updateTime":\#(now),"marketSchedules":{\#(markets.joined(separator: ","))}}"#
    }

    /// `day` counts from 1970-01-01, a Thursday.
    private func sessions(_ market: Market, on day: Int64) -> [Session] {
        var start = day * Interval.day
        let isWeekend = (day + 3) % 7 >= 5
        return (isWeekend ? [("NO_TRADING", 1_440)] : market.weekday).map { type, end in
            let session = Session(start: start, end: day * Interval.day + end * Interval.minute, type: type)
            start = session.end
            return session
        }
    }
}
