import FeedCore
import Testing

@testable import FuturesGateway

@Suite struct ReplayBudgetTests {
    private let piece = 32 << 10

    /// The seconds after which the last of so many readers may have its piece, each of whom takes so many.
    private func seconds(_ readers: Int, _ pieces: Int) -> Double {
        var (budget, due) = (ReplayBudget(), [Instant](repeating: Instant(nanoseconds: 1_000_000_000), count: readers))
        for _ in 0..<pieces { for reader in due.indices { due[reader] = budget.pay(piece, now: due[reader]) } }
        return Double((due.max()?.nanoseconds ?? 0) - 1_000_000_000) / 1e9
    }

    @Test(arguments: [1, 10, 32]) func allReplaysTogetherGetWhatOneMayHave(readers: Int) {
        let sent = Double(readers * 100 * piece)
        #expect(abs(seconds(readers, 100) - sent / Double(ReplayBudget.bytesPerSecond)) < 0.001)
    }

    @Test func nobodyIsPaidForTheTimeInWhichNothingWasPlayed() {
        var budget = ReplayBudget()
        _ = budget.pay(piece, now: Instant(nanoseconds: 0))
        let hour = Instant(nanoseconds: 3_600_000_000_000)
        #expect(budget.pay(piece, now: hour).nanoseconds - hour.nanoseconds == Int64(piece) * 1_000_000_000 / ReplayBudget.bytesPerSecond)
    }
}
