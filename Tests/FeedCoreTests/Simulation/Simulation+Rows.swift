@testable import FeedCore

/// Rows that are made from several streams, as those of `/markets` and `!markets`.
extension Simulation {
    /// Makes a row from the statuses that some streams have now, and compares it with each of them.
    func checkRow() {
        let inputs = (0..<rowDice.between(2, 5)).map { _ in rowDice.below(venue.streams.count) }
        // As the feed reads values: a stream without content has none.
        let statuses = inputs.map { stream in
            core.status(of: venue.streams[stream].name, now: moment.instant).flatMap { $0.contentID == nil ? nil : $0 }
        }
        let row = WorstFreshness(statuses)
        if row.state == .live { rows.live += 1 } else { rows.others += 1 }
        let areFresh = statuses.allSatisfy { $0?.state == .live && $0?.isWhole == true }
        verdict.expect(row.state != .live || areFresh, .rowIsWorst, "\(row) is live, of \(statuses)")
        verdict.expect(row.state == .live || !areFresh, .noFalseAlarm, "\(row) is not live, of \(statuses)")
        for status in statuses {
            guard let status else {
                verdict.expect(row.ageMs == nil && row.unverifiedMs == nil, .rowIsWorst, "\(row) has an age, and a stream has no content")
                continue
            }
            let isNoFresher =
                Self.rank(row.state) >= Self.rank(status.state) && row.ageMs ?? .max >= status.ageMs ?? .max
                && row.unverifiedMs ?? .max >= status.unverifiedMs ?? .max
            verdict.expect(isNoFresher, .rowIsWorst, "\(row) is fresher than \(status)")
        }
    }

    /// The worse of two states has the higher rank.
    private static func rank(_ state: FeedState) -> Int {
        [FeedState.live, .connecting, .recovering, .stale, .failed, .ended].firstIndex(of: state) ?? .max
    }
}
