/// A past funding payment.
struct Funding: Equatable {
    let time: Int64
    /// In units of 1e-8.
    let rate: Int64
    /// With eight decimals.
    let markPrice: Int64
}

/// The payments of one contract: recorded since the exchange opened, derived from the seed for earlier times.
struct FundingHistory {
    /// Milliseconds from one payment to the next; 0 if the contract has none.
    let interval: Int64
    private var noted: [Int64: Funding] = [:]
    private var next: Int64
    private let firstTime: Int64
    private let seed: UInt64

    init(_ listing: Listing, now: Int64, seed: UInt64) {
        interval = listing.fundingInterval
        self.seed = seed
        firstTime = now
        next = interval == 0 ? .max : (now / interval + 1) * interval
    }

    /// Records the payments that were due up to `now`, at the current rate and mark price.
    mutating func roll(to now: Int64, rate: Int64, markPrice: Int64) {
        while next <= now {
            noted[next] = Funding(time: next, rate: rate, markPrice: markPrice)
            next += interval
        }
    }

    /// The payment at `time`; nil if there was none. `price` returns the mark price at a time before the exchange opened.
    func payment(at time: Int64, price: (Int64) -> Int64) -> Funding? {
        guard interval > 0, time % interval == 0, time < next else { return nil }
        if let funding = noted[time] { return funding }
        guard time <= firstTime else { return nil }
        var generator = SeededGenerator(seed: seed, purpose: UInt64(bitPattern: time))
        return Funding(time: time, rate: generator.integer(in: -5_000...20_000), markPrice: price(time))
    }
}

extension Listing {
    /// Milliseconds from one funding payment to the next; 0 if there is none.
    var fundingInterval: Int64 {
        guard hasFunding else { return 0 }
        return (base == "ASTER" || base == "1000PEPE" ? 4 : 8) * Interval.hour
    }
}
