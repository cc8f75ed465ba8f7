import FeedCore
import ReplicatedLog
import Testing

@testable import Replication

@Suite struct StandbyTests {
    private func moment(_ milliseconds: Int64) -> Moment { Moment(instant: Instant(nanoseconds: milliseconds * 1_000_000), wallClock: 0) }

    /// A node that has read an empty log, and waits for a second of silence.
    private struct Node {
        var mirror = FeedMirror { _ in 10 }
        var standby = Standby(delay: .seconds(1), seed: 1)
        var led: [LogRecord] = []

        init(now: Moment) {
            _ = mirror.start(now: now)
            _ = hear(.reading(LogExtent(first: 1, last: 0)), now: now)
        }

        mutating func hear(_ event: LogEvent, now: Moment) -> [LogCommand] {
            _ = mirror.step(event, now: now)
            return commands(standby.step(event, mirror, now: now))
        }

        mutating func passDeadline(now: Moment) -> [LogCommand] { commands(standby.passDeadline(mirror, now: now)) }

        private mutating func commands(_ effects: [Standby.Effect]) -> [LogCommand] {
            effects.compactMap {
                switch $0 {
                case .perform(let command): return command
                case .lead(let claim):
                    led.append(claim)
                    return nil
                }
            }
        }
    }

    /// Lets the log be silent, with an engine that answers after so many milliseconds. Returns the claim and when it was made.
    private func claim(of node: inout Node, from start: Int64, answerAfter delay: Int64 = 1) -> (id: UInt64, body: [UInt8], at: Int64)? {
        for time in stride(from: start, to: start + 4000, by: 50) {
            for command in node.passDeadline(now: moment(time)) {
                switch command {
                case .append(let id, let body, _): return (id, body, time)
                case .inspect(let id):
                    let extent = LogExtent(first: 1, last: node.mirror.place)
                    for case .append(let id, let body, _) in node.hear(.inspected(id: id, .success(extent)), now: moment(time + delay)) {
                        return (id, body, time)
                    }
                default: break
                }
            }
        }
        return nil
    }

    /// What a takeover tells of freshness counts from there.
    @Test func aClaimIsNoSignOfLifeOfWhoWroteBefore() throws {
        var node = Node(now: moment(0))
        let first = Claim(previous: 0, end: 0).record
        let value = FeedRecord(.status, of: "btcusdt@markPrice", Array("{}".utf8)[...])
        let messages = [
            LogMessage(epoch: 5, term: 1, first: 1, sentAt: 0, records: [first]),
            LogMessage(epoch: 5, term: 1, first: 1, sentAt: 3_000, records: [value]),
        ]
        for (place, message) in messages.enumerated() {
            _ = node.hear(.record(LogRecord(sequence: UInt64(place + 1), body: message.bytes)), now: moment(Int64(place) * 3_000))
        }
        let claim = try #require(claim(of: &node, from: 3_050))
        _ = node.hear(.record(LogRecord(sequence: 3, body: claim.body)), now: moment(claim.at))
        #expect(node.mirror.epochs.current?.id != 5 && node.mirror.heardAt == moment(claim.at).instant)
        #expect(node.mirror.lastWord?.moment(now: moment(claim.at)) == moment(3_000).instant)
    }

    @Test func aMessageThatWasCommittedLateIsAsOldAsItWasWritten() {
        var node = Node(now: moment(0))
        let value = FeedRecord(.status, of: "btcusdt@markPrice", Array("{}".utf8)[...])
        let messages = [
            (LogMessage(epoch: 5, term: 1, first: 1, sentAt: 0, records: [Claim(previous: 0, end: 0).record]), Int64(2)),
            (LogMessage(epoch: 5, term: 1, first: 1, sentAt: 1_000, records: [value]), 1_001),
            // The log has no leader for six seconds.
            (LogMessage(epoch: 5, term: 1, first: 2, sentAt: 1_500, records: [value]), 7_500),
        ]
        for (place, (message, at)) in messages.enumerated() {
            _ = node.hear(.record(LogRecord(sequence: UInt64(place + 1), body: message.bytes)), now: moment(at))
        }
        #expect(node.mirror.lastWord?.moment(now: moment(7_600)) == moment(1_501).instant)
    }

    /// It says itself when it was written, by a clock that may be wrong: it is never taken for newer than it came.
    @Test(arguments: [(Int64(2_000), Int64(4_000)), (9_000, 5_000), (.min, 5_000), (.max, 5_000)])
    func whatWasReadWithThePastIsAsOldAsItSays(_ sentAt: Int64, _ expected: Int64) {
        let word = LastWord(writtenAt: moment(5_000).instant, sentAt: sentAt, isOfThePast: true)
        let now = Moment(instant: moment(6_000).instant, wallClock: 4_000)
        #expect(word.moment(now: now) == moment(expected).instant)
    }

    @Test func aSilentLogIsClaimedAndWhoseClaimComesBackLeads() throws {
        var node = Node(now: moment(0))
        let claim = try #require(claim(of: &node, from: 0))
        #expect(claim.at >= 1000)
        _ = node.hear(.appended(id: claim.id, sequence: 1), now: moment(claim.at + 5))
        #expect(node.led.isEmpty)
        _ = node.hear(.record(LogRecord(sequence: 1, body: claim.body)), now: moment(claim.at + 6))
        #expect(node.led.map(\.body) == [claim.body])
    }

    @Test func aLateAnswerIsNoSignThatTheEngineLivedAllAlong() {
        var node = Node(now: moment(0))
        #expect(claim(of: &node, from: 0, answerAfter: 300) == nil)
    }

    @Test func anEngineThatWasWithoutALeaderGivesTheWriterTheTimeAnAppendTakesToFail() throws {
        var node = Node(now: moment(0))
        for command in node.passDeadline(now: moment(900)) {
            guard case .inspect(let id) = command else { continue }
            _ = node.hear(.inspected(id: id, .failure(LogError(.unknown, "no leader"))), now: moment(1000))
        }
        let claim = try #require(claim(of: &node, from: 1050))
        #expect(claim.at >= 1000 + 2000 + 1000)
    }

    @Test func aNodeWhoseClaimWasAnsweredWhileItLedClaimsAgain() throws {
        var node = Node(now: moment(0))
        let first = try #require(claim(of: &node, from: 0))
        _ = node.hear(.record(LogRecord(sequence: 1, body: first.body)), now: moment(first.at + 1))
        #expect(node.led.count == 1)
        #expect(claim(of: &node, from: first.at + 100) != nil)
    }

    @Test func aClaimLeadsOnceThoughTheLogIsReadAgain() throws {
        var node = Node(now: moment(0))
        let claim = try #require(claim(of: &node, from: 0))
        let record = LogRecord(sequence: 1, body: claim.body)
        _ = node.hear(.record(record), now: moment(claim.at + 1))
        _ = node.hear(.regressed(LogExtent(first: 1, last: 1)), now: moment(claim.at + 2))
        _ = node.hear(.reading(LogExtent(first: 1, last: 1)), now: moment(claim.at + 3))
        _ = node.hear(.record(record), now: moment(claim.at + 4))
        #expect(node.mirror.isFollowing)
        #expect(node.led.count == 1)
    }
}
