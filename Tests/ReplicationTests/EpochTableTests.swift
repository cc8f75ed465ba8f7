import FeedCore
import Testing

@testable import Replication

@Suite struct EpochTableTests {
    private func message(_ epoch: UInt64, _ term: UInt64, _ first: UInt64, events: Int = 1, claim: Claim? = nil) -> LogMessage {
        let event = FeedRecord(.value, of: "btcusdt@markPrice", Array("{}".utf8)[...])
        let records = claim.map { [$0.record] } ?? Array(repeating: event, count: events)
        return LogMessage(epoch: epoch, term: term, first: first, sentAt: 0, records: records)
    }

    /// A log in which the writer 5 has appended the events 1 to 3.
    private var begun: EpochTable {
        var table = EpochTable()
        #expect(table.judge(message(5, 1, 1, claim: Claim(previous: 0, end: 0)), inOrder: true) == .begins)
        #expect(table.judge(message(5, 1, 1, events: 3), inOrder: false) == .counts)
        return table
    }

    @Test func whatAnOldWriterAppendsBehindAClaimIsVoid() {
        var table = begun
        #expect(table.judge(message(6, 2, 100, claim: Claim(previous: 5, end: 3)), inOrder: false) == .begins)
        #expect(table.judge(message(5, 1, 4), inOrder: false) == .isVoid)
        #expect(table.judge(message(6, 2, 100), inOrder: false) == .counts)
        #expect(table.headID == EventID(epoch: 6, sequence: 100))
    }

    @Test func ofTwoClaimsTheFirstOneCounts() {
        var table = begun
        #expect(table.judge(message(6, 2, 100, claim: Claim(previous: 5, end: 3)), inOrder: false) == .begins)
        #expect(table.judge(message(7, 2, 100, claim: Claim(previous: 5, end: 3)), inOrder: false) == .isVoid)
    }

    @Test func aMessageThatWasReadBeforeIsVoidAndOneBehindAGapIsDoubtful() {
        var table = begun
        #expect(table.judge(message(5, 1, 1, events: 3), inOrder: false) == .isVoid)
        #expect(table.judge(message(5, 1, 5), inOrder: false) == .isDoubtful)
        #expect(table.judge(message(5, 1, 5), inOrder: true) == .isVoid)
        #expect(table.judge(message(5, 1, 4), inOrder: false) == .counts)
    }

    @Test func aMessageOfAnUnknownWriterIsDoubtfulUntilTheLogIsReadInOrder() {
        var table = begun
        #expect(table.judge(message(9, 2, 100), inOrder: false) == .isDoubtful)
        #expect(table.judge(message(9, 2, 100), inOrder: true) == .breaks)
        #expect(!table.contains(EventID(epoch: 5, sequence: 2)))
    }

    @Test func aClaimThatNamesAnotherEndIsDoubtful() {
        var table = begun
        #expect(table.judge(message(6, 2, 100, claim: Claim(previous: 5, end: 2)), inOrder: false) == .isDoubtful)
        #expect(table.judge(message(6, 2, 100, claim: Claim(previous: 4, end: 3)), inOrder: false) == .isDoubtful)
    }

    @Test func aReaderResumesWhereTheLogWentAndNowhereElse() {
        var table = begun
        #expect(table.judge(message(6, 2, 100, claim: Claim(previous: 5, end: 3)), inOrder: false) == .begins)
        #expect(table.contains(EventID(epoch: 5, sequence: 3)))
        #expect(!table.contains(EventID(epoch: 5, sequence: 4)))
        #expect(table.contains(EventID(epoch: 6, sequence: 99)))
        #expect(!table.contains(EventID(epoch: 6, sequence: 100)))
        #expect(!table.contains(EventID(epoch: 7, sequence: 1)))
        #expect(!table.contains(EventID(epoch: 6, sequence: .max)))
    }

    @Test func aClaimBeginsAboveAllNumbersThatWereEverTold() throws {
        let claim = begun.claim(8, highest: 50, term: 4, sentAt: 0)
        #expect(claim.first == 50 + (1 << 32) + 1)
        #expect(claim.term == 5)
        #expect(claim.claim == Claim(previous: 5, end: 3))
        #expect(LogMessage(claim.bytes) == claim)
    }
}
