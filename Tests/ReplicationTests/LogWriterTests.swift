import FeedCore
import ReplicatedLog
import Testing

@testable import Replication

@Suite struct LogWriterTests {
    private let event = FeedRecord(.value, of: "btcusdt@markPrice", Array("{}".utf8)[...])

    private func moment(_ milliseconds: Int64) -> Moment { Moment(instant: Instant(nanoseconds: milliseconds * 1_000_000), wallClock: 0) }

    /// A writer whose claim is the record 7.
    private func writer(_ limits: LogWriter.Limits = .init()) throws -> LogWriter {
        var epochs = EpochTable()
        let claim = epochs.claim(5, highest: 0, term: 0, sentAt: 0)
        _ = epochs.judge(claim, inOrder: true)
        return try #require(LogWriter(epochs: epochs, claim: LogRecord(sequence: 7, body: claim.bytes), limits: limits, now: moment(0)))
    }

    private func appends(_ effects: [LogWriter.Effect]) -> [(id: UInt64, body: [UInt8], expecting: UInt64)] {
        effects.compactMap { if case .perform(.append(let id, let body, let expecting)) = $0 { (id, body, expecting) } else { nil } }
    }

    @Test func eachAppendExpectsTheOneBeforeIt() throws {
        var writer = try writer()
        let sent = appends(writer.append([event], now: moment(0)) + writer.append([event, event], now: moment(1)))
        #expect(sent.map(\.expecting) == [7, 8])
        let messages = sent.compactMap { LogMessage($0.body) }
        #expect(messages.map(\.eventCount) == [1, 2])
        #expect(messages[1].first == messages[0].first + 1)
    }

    @Test func whatIsMadeWhileTheEngineIsBusyGoesTogether() throws {
        var limits = LogWriter.Limits()
        limits.batches = 1
        var writer = try writer(limits)
        let first = appends(writer.append([event], now: moment(0)))
        for turn in 1...5 { #expect(writer.append([event], now: moment(Int64(turn))).isEmpty) }
        let second = appends(writer.step(.appended(id: first[0].id, sequence: 8), now: moment(6)))
        #expect(second.compactMap { LogMessage($0.body)?.eventCount } == [5])
    }

    /// A node that had read only the records before the content would serve the content from before the outage as live.
    @Test(arguments: [true, false]) func whatDescribesAContentIsInItsMessageHoweverFullThatIs(recovers: Bool) throws {
        func record(_ kind: FeedRecord.Kind, of subject: String? = nil) -> FeedRecord {
            FeedRecord(kind, of: subject ?? event.subject, Array("{}".utf8)[...])
        }
        // In the order in which an ingest writes them.
        let recovery = [record(.incidents), record(.recovered), record(.messagesLost)]
        let before = (recovers ? recovery : []) + [record(.verified, of: "-"), record(.status)]
        let other = record(.status, of: "ethusdt@markPrice")
        var limits = LogWriter.Limits()
        limits.messageBytes = 4 * event.size
        for earlier in 0...8 {
            var writer = try writer(limits)
            let records = Array(repeating: event, count: earlier) + before + [event, event, other]
            let messages = appends(writer.append(records, now: moment(0))).compactMap { LogMessage($0.body)?.records }
            #expect(messages.flatMap(\.self) == records)
            #expect(messages.dropLast().allSatisfy { $0.last?.kind == .value }, "\(earlier) events before it")
            #expect(messages.count >= 2 && messages.last?.last == other, "what describes no content does not wait")
        }
    }

    @Test func aRefusedWriterSendsTheSameBytesAgainBehindWhatIsVoid() throws {
        var writer = try writer()
        let claim = writer.acknowledged
        let sent = appends(writer.append([event], now: moment(0)))
        let old = LogMessage(epoch: 4, term: 0, first: 1, sentAt: 0, records: [event])
        #expect(writer.step(.notAppended(id: sent[0].id, LogError(.wrongSequence, "")), now: moment(1)).count == 1)
        let asked = writer.step(.inspected(id: writer.lastID, .success(LogExtent(first: 1, last: 8))), now: moment(2))
        let ids = asked.compactMap { if case .perform(.fetch(let id, _)) = $0 { id } else { nil } }
        #expect(ids.count == 2)
        #expect(writer.step(.fetched(id: ids[1], .success(LogRecord(sequence: 8, body: old.bytes))), now: moment(3)).isEmpty)
        let again = appends(writer.step(.fetched(id: ids[0], .success(claim)), now: moment(3)))
        #expect(again.map(\.body) == sent.map(\.body))
        #expect(again.map(\.expecting) == [8])
    }

    /// Lets the writer inspect a log that ends with its claim. Returns the appends that follow.
    private func inspected(_ writer: inout LogWriter, at milliseconds: Int64) throws -> [(id: UInt64, body: [UInt8], expecting: UInt64)] {
        let claim = writer.acknowledged
        let until = try #require(writer.deadline).nanoseconds / 1_000_000
        #expect(until > milliseconds, "it does not ask again at once")
        _ = writer.passDeadline(now: moment(until))
        let asked = writer.step(
            .inspected(id: writer.lastID, .success(LogExtent(first: 1, last: claim.sequence))), now: moment(until))
        let ids = asked.compactMap { if case .perform(.fetch(let id, _)) = $0 { id } else { nil } }
        return appends(writer.step(.fetched(id: try #require(ids.first), .success(claim)), now: moment(until)))
    }

    @Test func aRecordThatIsTooLargeIsLeftOutAndTheOthersAreAppended() throws {
        var writer = try writer()
        let large = FeedRecord(.value, of: "large@x", Array(repeating: UInt8(ascii: "x"), count: 2 << 20)[...])
        let checkpoint = FeedRecord(.checkpoint, of: "large@x", large.body)
        let sent = appends(writer.append([large], now: moment(0)) + writer.append([event], now: moment(0)))
        #expect(sent.count == 2)
        _ = writer.step(.notAppended(id: sent[1].id, LogError(.wrongSequence, "")), now: moment(1))
        _ = writer.step(.notAppended(id: sent[0].id, LogError(.tooLarge, "")), now: moment(1))
        let again = try inspected(&writer, at: 1)
        let messages = again.compactMap { LogMessage($0.body) }
        #expect(messages.flatMap(\.records) == [FeedRecord(.nothing, of: "large@x", [UInt8(ascii: "-")]), event])
        #expect(messages.map(\.first) == sent.compactMap { LogMessage($0.body)?.first }, "every event keeps its number")
        // The server's limit is known now.
        let later = appends(writer.append([large, checkpoint, event], now: moment(50)))
        #expect(later.compactMap { LogMessage($0.body)?.records }.flatMap(\.self).map(\.kind) == [.nothing, .value])
        #expect(later.allSatisfy { $0.body.count < 1000 })
    }

    @Test func aRefusedAppendIsRepeatedLaterAndLater() throws {
        var writer = try writer()
        var sent = appends(writer.append([event], now: moment(0)))
        var (now, delays): (Int64, [Int64]) = (0, [])
        for _ in 0..<8 {
            #expect(writer.step(.notAppended(id: sent[0].id, LogError(.refused, "")), now: moment(now)).isEmpty)
            let until = try #require(writer.deadline).nanoseconds / 1_000_000
            delays.append(until - now)
            sent = try inspected(&writer, at: now)
            now = until
        }
        #expect(delays == [20, 40, 80, 160, 320, 500, 500, 500])
    }

    @Test func moreVoidRecordsThanAreFetchedAtOnceArePassed() throws {
        var writer = try writer()
        let claim = writer.acknowledged
        let sent = appends(writer.append([event], now: moment(0)))
        let void = LogMessage(epoch: 4, term: 0, first: 1, sentAt: 0, records: [event]).bytes
        var effects = writer.step(.notAppended(id: sent[0].id, LogError(.wrongSequence, "")), now: moment(1))
        for _ in 0..<4 where appends(effects).isEmpty {
            let asked = writer.step(.inspected(id: writer.lastID, .success(LogExtent(first: 1, last: claim.sequence + 600))), now: moment(2))
            effects = []
            for case .perform(.fetch(let id, let sequence)) in asked {
                let body = sequence == claim.sequence ? claim.body : void
                effects += writer.step(.fetched(id: id, .success(LogRecord(sequence: sequence, body: body))), now: moment(3))
            }
        }
        #expect(appends(effects).map(\.expecting) == [claim.sequence + 600] && appends(effects).map(\.body) == sent.map(\.body))
        // The server lost some of them.
        effects = writer.step(.notAppended(id: try #require(appends(effects).first).id, LogError(.wrongSequence, "")), now: moment(4))
        let asked = writer.step(.inspected(id: writer.lastID, .success(LogExtent(first: 1, last: claim.sequence + 500))), now: moment(5))
        effects = writer.step(.fetched(id: writer.lastID, .success(claim)), now: moment(5))
        #expect(asked.count == 1 && appends(effects).map(\.expecting) == [claim.sequence + 500])
    }

    @Test func aWriterIsDeposedByAnothersClaim() throws {
        var writer = try writer()
        let sent = appends(writer.append([event], now: moment(0)))
        let claim = writer.epochs.claim(6, highest: 0, term: 0, sentAt: 0)
        _ = writer.step(.notAppended(id: sent[0].id, LogError(.wrongSequence, "")), now: moment(1))
        _ = writer.step(.inspected(id: writer.lastID, .success(LogExtent(first: 1, last: 8))), now: moment(2))
        let id = writer.lastID
        _ = writer.step(.fetched(id: id - 1, .success(writer.acknowledged)), now: moment(3))
        #expect(writer.step(.fetched(id: id, .success(LogRecord(sequence: 8, body: claim.bytes))), now: moment(3)) == [.deposed(.succeeded)])
        #expect(writer.append([event], now: moment(4)).isEmpty)
    }

    @Test func aWriterIsDeposedIfTheEngineLostItsLastRecord() throws {
        var writer = try writer()
        let sent = appends(writer.append([event], now: moment(0)))
        _ = writer.step(.notAppended(id: sent[0].id, LogError(.wrongSequence, "")), now: moment(1))
        let told = writer.step(.inspected(id: writer.lastID, .success(LogExtent(first: 1, last: 6))), now: moment(2))
        #expect(told == [.deposed(.regressed)])
    }

    @Test func aWriterIsDeposedIfItsLastRecordWasTrimmed() throws {
        var writer = try writer()
        let sent = appends(writer.append([event], now: moment(0)))
        _ = writer.step(.notAppended(id: sent[0].id, LogError(.wrongSequence, "")), now: moment(1))
        let told = writer.step(.inspected(id: writer.lastID, .success(LogExtent(first: 8, last: 20))), now: moment(2))
        #expect(told == [.deposed(.trimmed)])
    }

    @Test func aLaterWriterOfAProcessGivesOutIdsOfItsOwn() throws {
        let before = try writer()
        var later = try #require(LogWriter(epochs: before.epochs, claim: before.acknowledged, behind: 40, now: moment(0)))
        #expect(appends(later.append([event], now: moment(0))).map(\.id) == [41])
        #expect(later.lastID == 41)
    }

    @Test func anIdleWriterGivesSignsOfLife() throws {
        var writer = try writer()
        let deadline = try #require(writer.deadline)
        let sent = appends(writer.passDeadline(now: Moment(instant: deadline, wallClock: 0)))
        #expect(sent.compactMap { LogMessage($0.body)?.eventCount } == [0])
    }

    @Test func numbersThatWereLeftOutAreFilled() throws {
        var writer = try writer()
        let next = writer.next
        let sent = appends(writer.append([event], from: next + 2, now: moment(0)))
        #expect(sent.compactMap { LogMessage($0.body)?.records.map(\.kind) } == [[.nothing, .nothing, .value]])
    }

    @Test func aWriterThatGoesSaysSoLastAndThenNothing() throws {
        var writer = try writer()
        let sent = appends(writer.append([event], now: moment(0)) + writer.resign(now: moment(1)))
        #expect(sent.compactMap { LogMessage($0.body)?.records.map(\.kind) } == [[.value], [.resigned]])
        #expect(writer.backlog > 0)
        for (place, append) in sent.enumerated() { _ = writer.step(.appended(id: append.id, sequence: 8 + UInt64(place)), now: moment(2)) }
        #expect(writer.backlog == 0 && writer.deadline == nil)
    }
}
