import FeedCore
import ReplicatedLog
import Rings
import Testing

@testable import Replication

/// What the log tells besides events, and that a mirror has it.
@Suite struct NoticesTests {
    static let name = FuturesServiceStreamName.assetIndex
    var mirror = FeedMirror { _ in 100 }
    private var sequence: UInt64 = 0
    var next: UInt64 = 0

    init() {
        _ = mirror.start(now: Self.moment(0))
        _ = mirror.step(.reading(LogExtent(first: 1, last: 0)), now: Self.moment(0))
        let claim = EpochTable().claim(7, highest: 0, term: 0, sentAt: 1_000_000)
        next = claim.first
        // The log is empty, and its leader says so.
        _ = mirror.step(.inspected(id: 1 << 36, .success(LogExtent(first: 1, last: 0))), now: Self.moment(0))
        tell(claim, at: 0)
        // A node asks the leader again for each new writer.
        _ = mirror.step(.inspected(id: 1 << 36 + 1, .success(LogExtent(first: 1, last: 1))), now: Self.moment(0))
    }

    static func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// This machine's wall clock agrees with the writer's.
    static func moment(_ milliseconds: Int64) -> Moment { Moment(instant: at(milliseconds), wallClock: 1_000_000 + milliseconds) }

    @discardableResult
    mutating func tell(_ message: LogMessage, at milliseconds: Int64) -> [FeedMirror.Effect] {
        sequence += 1
        return mirror.step(.record(LogRecord(sequence: sequence, body: message.bytes)), now: Self.moment(milliseconds))
    }

    /// A message of the ingest, sent at this time by its own clock, which says a million when this node's says nothing.
    @discardableResult
    mutating func tell(_ records: [FeedRecord], epoch: UInt64 = 7, sentAt: Int64, at milliseconds: Int64) -> [FeedMirror.Effect] {
        let term = epoch == 7 ? 1 : mirror.epochs.current?.term ?? 1
        let message = LogMessage(epoch: epoch, term: term, first: next, sentAt: 1_000_000 + sentAt, records: records)
        next += message.eventCount
        return tell(message, at: milliseconds)
    }

    static func value(receivedAt: Int64) -> FeedRecord {
        let content = FuturesServiceFeedContent(
            streamName: name, id: EventID(epoch: 7, sequence: 1), kind: .full, state: .live, source: .rest, eventTime: 5,
            receivedAt: 1_000_000 + receivedAt, rows: .assetIndex([]))
        return EncodedEvent(FeedEvent(stream: name, id: content.id, kind: .fetched(content)), receivedAt: nil).record
    }

    @Test mutating func whatTheVenueListsIsToldWhole() throws {
        var listing = VenueListing(symbols: ["BTCUSDT", "Ünï_1"], settled: ["OLD"], assetIndices: ["BTCUSD"], weightLimit: 2400)
        listing.isSimulated = true
        tell([ListingRecord.record(listing)], sentAt: 0, at: 0)
        let told = try #require(mirror.listings[""])
        #expect(told.symbols == listing.symbols && told.settled == listing.settled && told.assetIndices == listing.assetIndices)
        #expect(told.weightLimit == 2400 && told.isSimulated)
        listing.symbols = ["ETHUSDT"]
        tell([ListingRecord.record(listing, of: "binance"), FeedRecord(.listing, of: "x", Array("{}".utf8)[...])], sentAt: 0, at: 0)
        #expect(mirror.listings["binance"]?.symbols == ["ETHUSDT"] && mirror.listings[""]?.symbols == told.symbols && mirror.listings.count == 2)
    }

    @Test mutating func whatTheIngestSaysOfItselfIsTold() {
        var gauges = IngestGauges()
        gauges.upstreams = [
            "": UpstreamGauges(weight: (17, 2400), restPauseMs: 900, aheadMs: -12), "stocks": UpstreamGauges(),
            "binance": UpstreamGauges(weight: (1, 1200), aheadMs: 3),
        ]
        gauges.lines = [LineStatus(upstream: 0, line: 1, open: 2, connections: 3)]
        tell([gauges.record], sentAt: 0, at: 0)
        #expect(mirror.gauges == gauges)
        gauges.upstreams[""]?.aheadMs = nil
        tell([gauges.record], sentAt: 0, at: 0)
        #expect(mirror.gauges == gauges, "the ingest does not know the venue's time yet")
        tell([FeedRecord(.gauges, of: "-", Array("{".utf8)[...])], sentAt: 0, at: 0)
        #expect(mirror.gauges == gauges, "what cannot be read changes nothing")
        // What no ingest says would overflow in whoever adds it up.
        for change in [
            { $0.lines = [LineStatus(upstream: 0, line: .max)] }, { $0.lines = [LineStatus(upstream: -1, line: 0)] },
            { $0.lines = [LineStatus(upstream: 0, line: 0, open: .min)] },
            { $0.lines = [LineStatus(upstream: 0, line: 0, connections: .max)] },
            { $0.upstreams[""]?.restPauseMs = .max }, { $0.upstreams[""]?.aheadMs = .min }, { $0.upstreams[""]?.weight.used = .min },
            { $0.upstreams["binance"]?.weight.limit = .max },
        ] as [(inout IngestGauges) -> Void] {
            var changed = gauges
            change(&changed)
            tell([changed.record], sentAt: 0, at: 0)
            #expect(mirror.gauges == gauges)
        }
    }

    @Test mutating func agesGoByTheClockOfTheOneWhoWrites() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 10, at: 30)
        tell([], sentAt: 100, at: 105)
        let status = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(205)))
        #expect(status.ageMs == 205 && status.unverifiedMs == 205, "the message that came fastest tells the time")
        #expect(status.source == .rest && status.state == .live && status.isWhole)
        tell(VerifiedRecord.records([(Self.name, 1_000_150)]), sentAt: 200, at: 205)
        let verified = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(205)))
        #expect(verified.ageMs == 205 && verified.unverifiedMs == 55)
        #expect(mirror.clock.time(at: Self.at(300)) == 1_000_300)
    }

    @Test mutating func aClockThatIsSetBackIsLearnedAnew() {
        tell([], sentAt: 10_000, at: 100)
        tell([], sentAt: 200, at: 300)
        #expect(mirror.clock.time(at: Self.at(300)) == 1_000_200 && mirror.lagMs == 0)
    }

    @Test mutating func aStatusThatWaitedForTheEngineMakesNothingYounger() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let live = FeedEvent(stream: Self.name, id: EventID(epoch: 7, sequence: next), kind: .status(.live, ageMs: 0, unverifiedMs: 0))
        tell([EncodedEvent(live, receivedAt: nil).record], sentAt: 20_000, at: 20_000)
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(20_000)).unverifiedMs == 20_000)
    }

    @Test mutating func evidenceCanBeTakenBack() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        for at in [900, 600] as [Int64] { tell(VerifiedRecord.records([(Self.name, 1_000_000 + at)]), sentAt: 1_000, at: 1_000) }
        #expect(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(1_100)).unverifiedMs == 500, "nobody is told better than it is")
    }

    @Test mutating func incidentsAreTakenOnceInTheOrderOfTheirTimes() {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let all = (0..<120).map { StreamIncident(at: Int64($0), kind: $0 % 2 == 0 ? .disconnect : .recover, detail: "detail \($0) \"of\" it") }
        tell([IncidentsRecord.record(Array(all[10..<12]), of: Self.name)], sentAt: 0, at: 0)
        tell([IncidentsRecord.record(Array(all[0..<12]), of: Self.name)], sentAt: 0, at: 0)
        #expect(mirror.streams[Self.name]?.incidents == Array(all[0..<12]))
        tell([IncidentsRecord.record(all, of: Self.name)], sentAt: 0, at: 0)
        #expect(mirror.streams[Self.name]?.incidents == Array(all.suffix(100)))
    }

    private static func message(_ name: FuturesServiceStreamName, _ text: String?) -> FeedRecord {
        FeedRecord(VenueMessage(stream: name, text: text.map { Array($0.utf8) }))
    }

    private static func passedOn(_ effects: [FeedMirror.Effect]) -> [VenueMessage] {
        effects.compactMap { if case .passOn(let message) = $0 { message } else { nil } }
    }

    @Test mutating func aMessageOfTheVenueFollowsTheContentThatItChanged() {
        tell([], sentAt: 0, at: 0)
        let effects = tell([Self.message(Self.name, "early"), Self.value(receivedAt: 0), Self.message(Self.name, "{\n}")], sentAt: 10, at: 10)
        #expect(Self.passedOn(effects) == [VenueMessage(stream: Self.name, text: Array("{ }".utf8))], "a stream without content has no messages")
        #expect(effects.firstIndex { if case .tell = $0 { true } else { false } } == effects.count - 2, "the content comes first")
    }

    /// A socket has no room for an age.
    @Test mutating func aMessageThatLayInTheLogIsNotPassedOn() throws {
        let trades = FuturesServiceStreamName.aggregateTrade(symbol: "BTCUSDT")
        let connected = FeedRecord(.connected, of: trades.description, Array("{}".utf8)[...])
        tell([connected, Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let records = [Self.message(trades, "1"), Self.message(Self.name, "2")]
        #expect(Self.passedOn(tell(records, sentAt: 100, at: 1_900)).map(\.text) == [Array("1".utf8), Array("2".utf8)])
        let late = Self.passedOn(tell(records, sentAt: 2_000, at: 4_100))
        #expect(late == [VenueMessage(stream: trades, text: nil)], "readers of trades hear of it, a later price makes up for an earlier one")
    }

    /// No later message repeats the final one of a bar.
    @Test(arguments: ["final", nil]) mutating func aLateMessageOfABarCountsAsLost(_ text: String?) throws {
        let bars = FuturesServiceStreamName.kline(symbol: "BTCUSDT", interval: .minute1)
        tell([FeedRecord(.connected, of: bars.description, Array("{}".utf8)[...])], sentAt: 0, at: 0)
        #expect(Self.passedOn(tell([Self.message(bars, text)], sentAt: 2_000, at: 4_100)) == [VenueMessage(stream: bars, text: nil)])
    }

    /// A reader may ask for a stream while the node is behind.
    @Test mutating func aTakeoverLosesTheMessages() throws {
        let book = FuturesServiceStreamName.depth(symbol: "BTCUSDT")
        tell([FeedRecord(.connected, of: book.description, Array("{}".utf8)[...]), Self.message(book, "1")], sentAt: 0, at: 0)
        #expect(mirror.streams[book]?.newestMessage == Array("1".utf8))
        let claim = try #require(mirror.epochs.current.map { _ in mirror.epochs.claim(8, highest: next - 1, term: 1, sentAt: 1_000_100) })
        #expect(tell(claim, at: 100).contains(.messagesLost))
        #expect(mirror.streams[book]?.newestMessage == nil)
    }

    private func status() -> StreamStatus? { mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(60_000)) }

    /// A node that begins anew on a log in which a value of 47 s ago is the last word, while its leader has more.
    private mutating func restart(at now: Int64) -> [FeedMirror.Effect] {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let (claim, value) = (EpochTable().claim(7, highest: 0, term: 0, sentAt: 1_000_000), [Self.value(receivedAt: 0)])
        mirror = FeedMirror { _ in 100 }
        next = claim.first
        _ = mirror.start(now: Self.moment(now))
        _ = mirror.step(.reading(LogExtent(first: 1, last: 2)), now: Self.moment(now))
        sequence = 0
        tell(claim, at: now)
        return tell(value, sentAt: 0, at: now)
    }

    @Test mutating func aRestartedNodeServesNothingBeforeARecordOfThisMoment() throws {
        let effects = restart(at: 47_000)
        #expect(effects.contains(.perform(.inspect(id: 1 << 36))) && !effects.contains(.serve), "the leader is asked first")
        #expect(!mirror.step(.inspected(id: 1 << 36, .success(LogExtent(first: 1, last: 3))), now: Self.moment(47_010)).contains(.serve))
        #expect(!tell([], sentAt: 100, at: 47_020).contains(.serve), "the leader had it already: nobody knows how old it is")
        #expect(tell([], sentAt: 47_100, at: 47_100).contains(.serve))
        let status = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(47_100)))
        #expect(status.unverifiedMs == 47_100)
    }

    @Test mutating func aRestartedNodeWhoseWriterIsDeadServesItsValuesAsStaleByItsOwnClock() throws {
        _ = restart(at: 47_000)
        _ = mirror.step(.inspected(id: 1 << 36, .success(LogExtent(first: 1, last: 2))), now: Self.moment(47_010))
        #expect(mirror.passDeadline(now: Self.moment(48_000)).isEmpty, "a record of this moment may come")
        #expect(mirror.passDeadline(now: Self.moment(49_010)).contains(.serve))
        let status = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(49_010)))
        #expect(status.state == .stale && status.unverifiedMs == 49_010)
    }

    @Test mutating func aNodeThatReadsTheLogAgainJudgesItByItsOwnClockUntilANewRecordArrives() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        _ = mirror.step(.regressed(LogExtent(first: 1, last: 2)), now: Self.moment(30_000))
        let (claim, value) = (EpochTable().claim(8, highest: 0, term: 0, sentAt: 1_000_000), [Self.value(receivedAt: 100)])
        _ = mirror.step(.reading(LogExtent(first: 1, last: 2)), now: Self.moment(30_000))
        (sequence, next) = (0, claim.first)
        tell(claim, at: 30_000)
        let effects = tell(value, epoch: 8, sentAt: 100, at: 30_000)
        #expect(effects.contains { if case .perform(.inspect) = $0 { true } else { false } }, "the leader is asked whether that is all")
        #expect(!effects.contains { if case .tell(let event) = $0 { event.kind == .recovered } else { false } })
        let status = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(30_000)))
        #expect(status.state == .stale && status.unverifiedMs == 29_900)
    }

    @Test mutating func aTakeoverThatLayInTheLogMakesNothingYounger() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let claim = mirror.epochs.claim(8, highest: mirror.highest.number, term: 1, sentAt: 1_000_100)
        _ = mirror.step(.reading(LogExtent(first: 1, last: sequence + 2)), now: Self.moment(30_000))
        next = claim.first
        tell(claim, at: 30_000)
        tell([Self.value(receivedAt: 200)], epoch: 8, sentAt: 200, at: 30_000)
        let status = try #require(mirror.streams[Self.name]?.status(mirror.clock, now: Self.at(30_000)))
        #expect(status.unverifiedMs == 29_800)
    }

    @Test func aMessageThatIsReadAgainDoesNotSetTheClockBack() {
        var clock = WriterClock()
        clock.hear(1_000, Self.at(0))
        clock.hear(500, Self.at(100), isOfThePast: true)
        #expect(clock.time(at: Self.at(100)) == 1_100)
        clock.hear(600, Self.at(200))
        #expect(clock.time(at: Self.at(200)) == 600, "a new message does, since somebody has set the writer's clock")
    }

    @Test mutating func aLeaderThatCannotAnswerIsAskedAgain() {
        _ = restart(at: 47_000)
        _ = mirror.step(.inspected(id: 1 << 36, .failure(LogError(.unavailable, "no leader"))), now: Self.moment(47_010))
        #expect(mirror.passDeadline(now: Self.moment(47_260)) == [.perform(.inspect(id: 1 << 36 + 1))])
    }

    @Test mutating func aReceiptOfASilentLogCountsFromTheLastEvidenceOfTheStream() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        tell([], sentAt: 400, at: 400)
        let deadline = try #require(mirror.deadline)
        #expect(deadline == Self.at(2_400))
        _ = mirror.passDeadline(now: Self.moment(2_400))
        let effects = tell([], sentAt: 9_000, at: 9_000)
        let receipts = effects.compactMap {
            if case .tell(let event) = $0, event.kind == .recovered { MirroredWords.downMs(event.body) } else { nil }
        }
        #expect(receipts == [9_000], "the reader has heard nothing of the stream for as long")
    }

    @Test mutating func aReceiptOfATakeoverBehindACutCountsFromTheCut() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        _ = mirror.passDeadline(now: Self.moment(try #require(mirror.deadline).nanoseconds / 1_000_000))
        // The old writer lived on for 600 ms, and another one took over. This node reads both after nine seconds.
        let claim = mirror.epochs.claim(8, highest: sequence, term: 1, sentAt: 1_008_500)
        next = claim.first
        tell(claim, at: 9_000)
        let recovery = FeedRecovery(error: nil, method: .snapshot, downMs: 7_900, missed: nil)
        let records = [FeedEvent.Kind.disconnected(reason: "a test"), .recovered(recovery)].map {
            EncodedEvent(FeedEvent(stream: Self.name, id: EventID(epoch: 8, sequence: 1), kind: $0), receivedAt: nil).record
        }
        let effects = tell(records, epoch: 8, sentAt: 8_500, at: 9_000)
        let receipts = effects.compactMap { (effect) -> EncodedEvent? in
            if case .tell(let event) = effect, event.kind == .recovered { event } else { nil }
        }
        #expect(receipts.map(\.detail) == [.recovered(downMs: 9_000)])
        #expect(receipts.first?.isLocal == false && receipts.first?.body.count == records[1].body.count)
        // The next outage is the log's alone.
        let later = tell(records, epoch: 8, sentAt: 8_600, at: 9_100)
        #expect(later.contains { if case .tell(let event) = $0 { event.detail == .recovered(downMs: 7_900) } else { false } })
    }

    /// It may report an outage in its next message.
    @Test mutating func aCutStreamWaitsForTheFirstWordOfANewWriter() throws {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        _ = mirror.passDeadline(now: Self.moment(try #require(mirror.deadline).nanoseconds / 1_000_000))
        let claim = mirror.epochs.claim(8, highest: sequence, term: 1, sentAt: 1_008_900)
        next = claim.first
        let questions = tell(claim, at: 9_000).compactMap { (effect) -> UInt64? in
            if case .perform(.inspect(let id)) = effect { id } else { nil }
        }
        let question = try #require(questions.first)
        _ = mirror.step(.inspected(id: question, .success(LogExtent(first: 1, last: sequence))), now: Self.moment(9_010))
        for time in [9_100, 9_200] as [Int64] {
            let effects = tell([IngestGauges().record], epoch: 8, sentAt: time, at: time + 5)
            #expect(effects.allSatisfy { if case .tell = $0 { false } else { true } }, "the writer has said nothing of the stream")
        }
        #expect(mirror.trouble(now: Self.at(9_205)) == nil, "the node itself is current")
        let effects = tell([Self.value(receivedAt: 9_300)], epoch: 8, sentAt: 9_300, at: 9_305)
        #expect(effects.contains { if case .tell(let event) = $0 { event.kind == .recovered } else { false } })
    }

    @Test(arguments: [(3_001, 2_000), (9_000, 8_000)])
    mutating func aReceiptThatWasCommittedLateCountsTheDelay(_ at: Int64, _ downMs: Int64) {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        func record(_ kind: FeedEvent.Kind) -> FeedRecord {
            EncodedEvent(FeedEvent(stream: Self.name, id: EventID(epoch: 7, sequence: 1), kind: kind), receivedAt: nil).record
        }
        let lost = StreamIncident(at: 1_001_000, kind: .disconnect, detail: "a test")
        tell([IncidentsRecord.record([lost], of: Self.name), record(.disconnected(reason: "a test"))], sentAt: 1_000, at: 1_000)
        tell([], sentAt: 2_900, at: 2_900)
        // The outage ended at 3 s, and its end may wait in the writer or for a leader of the log.
        let end = StreamIncident(at: 1_003_000, kind: .recover, detail: "a test")
        let recovery = FeedRecovery(error: nil, method: .snapshot, downMs: 2_000, missed: nil)
        let effects = tell([IncidentsRecord.record([end], of: Self.name), record(.recovered(recovery))], sentAt: at - 1, at: at)
        let receipts = effects.compactMap { if case .tell(let event) = $0, event.kind == .recovered { event.detail } else { nil } }
        #expect(receipts == [.recovered(downMs: downMs)])
    }

    @Test mutating func aSilentLogIsReportedThoughTheLeaderDoesNotAnswer() {
        tell([Self.value(receivedAt: 0)], sentAt: 0, at: 0)
        let claim = mirror.epochs.claim(8, highest: sequence, term: 1, sentAt: 1_001_000)
        next = claim.first
        tell(claim, at: 1_000)
        tell([], epoch: 8, sentAt: 1_100, at: 1_100)
        // The log's leader dies before it has said where the log ends.
        var lost: [Int64] = []
        while let deadline = mirror.deadline?.nanoseconds, deadline <= 6_000_000_000 {
            let effects = mirror.passDeadline(now: Self.moment(deadline / 1_000_000))
            if effects.contains(where: { if case .tell(let event) = $0 { event.kind == .disconnected } else { false } }) {
                lost.append(deadline / 1_000_000)
            }
        }
        #expect(lost == [3_100])
    }

    @Test mutating func aWriterThatGoesInOrderIsFollowedAtOnce() throws {
        var standby = Standby(delay: .seconds(60), seed: 1)
        let moment = Moment(instant: Self.at(100), wallClock: 0)
        tell([], sentAt: 100, at: 100)
        #expect(standby.passDeadline(mirror, now: moment).isEmpty)
        tell([FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")])], sentAt: 100, at: 100)
        let effects = standby.passDeadline(mirror, now: moment)
        guard case .perform(.append(let id, let body, let expecting)) = try #require(effects.first) else { throw Missing() }
        #expect(expecting == sequence && LogMessage(body)?.claim != nil)
        _ = standby.step(.notAppended(id: id, LogError(.wrongSequence, "")), mirror, now: moment)
        #expect(standby.passDeadline(mirror, now: moment).allSatisfy { if case .perform(.append) = $0 { false } else { true } }, "once")
    }

    private struct Missing: Error {}
}
