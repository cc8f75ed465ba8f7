/// The kline intervals of the venues. Case matters: `1m` is a minute, `1M` a month.
enum Interval: String, CaseIterable {
    case minute1 = "1m"
    case minute3 = "3m"
    case minute5 = "5m"
    case minute15 = "15m"
    case minute30 = "30m"
    case hour1 = "1h"
    case hour2 = "2h"
    case hour4 = "4h"
    case hour6 = "6h"
    case hour8 = "8h"
    case hour12 = "12h"
    case day1 = "1d"
    case day3 = "3d"
    case week1 = "1w"
    case month1 = "1M"

    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    /// Length in milliseconds; the shortest possible one for a month.
    var length: Int64 {
        switch self {
        case .minute1: Self.minute
        case .minute3: 3 * Self.minute
        case .minute5: 5 * Self.minute
        case .minute15: 15 * Self.minute
        case .minute30: 30 * Self.minute
        case .hour1: Self.hour
        case .hour2: 2 * Self.hour
        case .hour4: 4 * Self.hour
        case .hour6: 6 * Self.hour
        case .hour8: 8 * Self.hour
        case .hour12: 12 * Self.hour
        case .day1: Self.day
        case .day3: 3 * Self.day
        case .week1: 7 * Self.day
        case .month1: 28 * Self.day
        }
    }

    /// Open time of the bar that holds `time`. Weeks open on Monday, months on their first day, all at 00:00 UTC.
    func open(at time: Int64) -> Int64 {
        switch self {
        case .week1:
            let monday = 4 * Self.day
            return (time - monday) / length * length + monday
        case .month1:
            return CivilMonth(containing: time).start
        default:
            return time / length * length
        }
    }

    /// The first millisecond after the bar that opens at `open`.
    func end(of open: Int64) -> Int64 {
        self == .month1 ? CivilMonth(containing: open).next.start : open + length
    }
}

/// A month of the Gregorian calendar, for times from 1970 on.
private struct CivilMonth {
    /// Months since January of year 0.
    let number: Int64

    private init(number: Int64) { self.number = number }

    init(containing time: Int64) {
        let days = max(0, time) / Interval.day
        var guess = CivilMonth(number: 1970 * 12 + days / 31)
        while guess.next.startDay <= days { guess = guess.next }
        self = guess
    }

    var next: CivilMonth { CivilMonth(number: number + 1) }
    var start: Int64 { startDay * Interval.day }

    /// Days from 1970-01-01 to the first of the month, by counting years that begin in March.
    private var startDay: Int64 {
        let (year, month) = (number / 12, number % 12)
        let marchYear = month < 2 ? year - 1 : year
        let marchMonth = (month + 10) % 12
        let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
        return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 - 719_468
    }
}
