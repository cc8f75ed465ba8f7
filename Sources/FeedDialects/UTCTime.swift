/// Times from outside: parameters, files, upstreams and other nodes. All are bounded here, so that sums cannot overflow.
package enum UTCTime {
    /// The last millisecond of the year 9999, ms since 1970 UTC, which is the last time in RFC 3339.
    package static let latest: Int64 = 253_402_300_799_999

    /// Parses an integer of ms since 1970 UTC, or a time of RFC 3339 §5.6. Nil for anything else, and for times before 1970 or after 9999.
    package static func read(_ text: String) -> Int64? {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { $0 &- 48 < 10 }
        guard let time = isNumber ? Int64(text) : milliseconds(text), (0...latest).contains(time) else { return nil }
        return time
    }

    /// Parses a time of RFC 3339 §5.6 as ms since 1970 UTC, truncated to milliseconds. Nil for anything else, including trailing text.
    package static func milliseconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8.prefix(41))
        func number(_ place: Int, _ count: Int = 2) -> Int64? {
            guard place + count <= bytes.count, bytes[place..<place + count].allSatisfy({ $0 &- 48 < 10 }) else { return nil }
            return bytes[place..<place + count].reduce(0) { $0 * 10 + Int64($1 &- 48) }
        }
        func separates(_ place: Int, _ characters: String) -> Bool { place < bytes.count && characters.utf8.contains(bytes[place]) }
        guard (20...40).contains(bytes.count), separates(4, "-"), separates(7, "-"), separates(10, "Tt "), separates(13, ":"), separates(16, ":"),
            let year = number(0, 4), let month = number(5), let day = number(8), let hour = number(11), let minute = number(14),
            let second = number(17), (1...12).contains(month), (1...length(ofMonth: month, year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        var (place, milliseconds, offset): (Int, Int64, Int64) = (19, 0, 0)
        if separates(place, ".") {
            let fraction = bytes[20...].prefix { $0 &- 48 < 10 }
            guard !fraction.isEmpty else { return nil }
            for (digit, worth) in zip(fraction, [100, 10, 1] as [Int64]) { milliseconds += Int64(digit &- 48) * worth }
            place += 1 + fraction.count
        }
        if separates(place, "Zz") {
            place += 1
        } else {
            guard separates(place, "+-"), separates(place + 3, ":"), let hours = number(place + 1), let minutes = number(place + 4), hours < 24,
                minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (separates(place, "-") ? -60 : 60)
            place += 6
        }
        guard place == bytes.count else { return nil }
        return (days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset) * 1_000 + milliseconds
    }

    /// The day of a time in ms since 1970 UTC, such as `2026-11-23`. Earlier times are of the first day, later ones of the last day of 9999.
    package static func day(of milliseconds: Int64) -> String {
        // The inverse of `days`, in cycles of 400 years.
        let days = min(max(milliseconds, 0), latest) / 86_400_000 + 719_468
        let (cycle, day) = (days / 146_097, days % 146_097)
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isNextYear = month >= 10
        let parts = [cycle * 400 + year + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3, dayOfYear - (153 * month + 2) / 5 + 1]
        return parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-")
    }

    private static func length(ofMonth month: Int64, _ year: Int64) -> Int64 {
        let isLeap = year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
        return month == 2 ? isLeap ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Days since 1970-01-01. Years start in March, so that the leap day is the last day of its year.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (shifted, monthOfYear) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
        return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * monthOfYear + 2) / 5 + day - 1 - 719_468
    }
}
