import FeedCore
import NIOCore
import ReplicatedLog
import Testing

@testable import NATS

@Suite struct OrderedConsumerTests {
    private var consumer = OrderedConsumer(heartbeat: .milliseconds(500), isConnected: true, random: SplitMix64(seed: 7))
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private mutating func step(_ input: OrderedConsumer.Input) -> [String] {
        consumer.step(input, now: now).map { effect in
            switch effect {
            case .create(let attempt, let from): "create \(attempt) from \(from)"
            case .inspect(let attempt): "inspect \(attempt)"
            case .remove(let attempt): "remove \(attempt)"
            case .acknowledge(let subject): "acknowledge \(subject)"
            case .deliver(let sequence, let body): "deliver \(sequence) \(String(buffer: body))"
            case .reading(let state): "reading \(state.first) to \(state.last)"
            case .stalled(let error): "stalled \(error.code)"
            case .trimmed(let state): "trimmed to \(state.first)"
            case .regressed(let state): "regressed to \(state.last)"
            }
        }
    }

    private mutating func wait() throws -> [String] {
        now = max(now, try #require(consumer.deadline))
        return step(.deadline)
    }

    private mutating func receive(_ sequence: UInt64, _ attempt: UInt64 = 1) -> [String] {
        step(.received(attempt: attempt, Self.message(sequence)))
    }

    private static func message(_ sequence: UInt64) -> NATSMessage {
        NATSMessage(
            subject: "i", subscription: 2, reply: "$JS.ACK.FG.c.1.\(sequence).4.1700000000000000000.0",
            headers: HeaderBlock(ByteBuffer(string: "NATS/1.0\r\nNats-Expected-Last-Sequence: 1\r\n\r\n")), payload: ByteBuffer(string: "b"))
    }

    private static func status(_ line: String, _ fields: String = "", reply: String? = nil) -> NATSMessage {
        NATSMessage(subject: "i", subscription: 2, reply: reply, headers: HeaderBlock(ByteBuffer(string: "NATS/1.0 \(line)\r\n\(fields)\r\n")))
    }

    private static func state(_ first: UInt64, _ last: UInt64) -> JetStreamState { JetStreamState(messages: 0, bytes: 0, first: first, last: last) }

    /// Reads from 5 on, of 1 to 6.
    private mutating func follow() {
        _ = step(.read(from: 5))
        _ = step(.created(attempt: 1, .success(())))
        _ = step(.inspected(attempt: 1, .success(Self.state(1, 6))))
    }

    @Test mutating func messagesAreHandedOverOnceInOrder() {
        #expect(step(.read(from: 5)) == ["create 1 from 5"])
        #expect(receive(5) == [], "what comes waits for the stream's ends, or its reader would not know what it belongs to")
        #expect(step(.created(attempt: 1, .success(()))) == ["inspect 1"])
        #expect(step(.inspected(attempt: 1, .success(Self.state(1, 6)))) == ["reading 1 to 6", "deliver 5 b"])
        #expect(receive(6) == ["deliver 6 b"])
        #expect(receive(7) == ["deliver 7 b"])
    }

    @Test(arguments: [9, 6, 4]) mutating func aMessageThatIsNotNextMakesTheConsumerAnew(sequence: UInt64) {
        follow()
        #expect(receive(5) == ["deliver 5 b"])
        let other = sequence == 6 ? 5 : sequence
        #expect(receive(other) == ["remove 1", "create 2 from 6"])
        #expect(receive(6) == [], "the old consumer counts no more")
        #expect(receive(6, 2) == [])
        _ = step(.created(attempt: 2, .success(())))
        #expect(step(.inspected(attempt: 2, .success(Self.state(1, 9)))) == ["reading 1 to 9", "deliver 6 b"])
    }

    @Test mutating func aHoleAtTheEndShowsAtTheHeartbeat() {
        follow()
        #expect(step(.received(attempt: 1, Self.status("100 Idle Heartbeat", "Nats-Last-Stream: 4\r\n"))) == [])
        #expect(receive(5) == ["deliver 5 b"])
        #expect(step(.received(attempt: 1, Self.status("100 Idle Heartbeat", "Nats-Last-Stream: 6\r\n"))) == ["remove 1", "create 2 from 6"])
    }

    @Test mutating func flowControlIsAnsweredAndSoIsAHeartbeatThatNamesIt() {
        follow()
        #expect(step(.received(attempt: 1, Self.status("100 FlowControl Request", reply: "$JS.FC.x"))) == ["acknowledge $JS.FC.x"])
        let stalled = Self.status("100 Idle Heartbeat", "Nats-Last-Stream: 4\r\nNats-Consumer-Stalled: $JS.FC.y\r\n")
        #expect(step(.received(attempt: 1, stalled)) == ["acknowledge $JS.FC.y"])
        #expect(step(.received(attempt: 1, Self.status("100", reply: "a b"))) == [], "no such subject")
    }

    @Test mutating func aSilentConsumerIsMadeAnewAndTheSilenceIsTold() throws {
        follow()
        let before = now
        #expect(try wait() == ["stalled timedOut", "remove 1", "create 2 from 5"])
        #expect(now - before == .milliseconds(1500))
        #expect(step(.created(attempt: 2, .failure(.noResponders))) == ["remove 2"])
        #expect(try wait() == ["create 3 from 5"])
        #expect(step(.created(attempt: 3, .success(()))) == ["inspect 3"])
        #expect(step(.inspected(attempt: 3, .success(Self.state(1, 9)))) == ["reading 1 to 9"])
    }

    @Test mutating func whatTheStreamHasLostIsToldAndEndsTheReading() {
        _ = step(.read(from: 5))
        #expect(receive(4) == [], "2.9 delivers from the end on if that is before 5")
        #expect(receive(5) == [])
        _ = step(.created(attempt: 1, .success(())))
        #expect(step(.inspected(attempt: 1, .success(Self.state(1, 3)))) == ["remove 1", "regressed to 3"])
        #expect(consumer.deadline == nil)
        #expect(step(.read(from: 4)) == ["create 2 from 4"])
    }

    @Test mutating func messagesThatOvertakeTheStreamsEndsAreNoLoss() {
        _ = step(.read(from: 5))
        _ = receive(5)
        #expect(step(.created(attempt: 1, .success(()))) == ["inspect 1"])
        for sequence: UInt64 in 6...9 { #expect(receive(sequence) == []) }
        let due = ["reading 1 to 5"] + (5...9).map { "deliver \($0) b" }
        #expect(step(.inspected(attempt: 1, .success(Self.state(1, 5)))) == due)
        #expect(receive(10) == ["deliver 10 b"])
    }

    @Test mutating func whatWasHeldAndIsNotNextMakesTheConsumerAnew() {
        _ = step(.read(from: 5))
        for sequence: UInt64 in [5, 7, 8] { _ = receive(sequence) }
        _ = step(.received(attempt: 1, Self.status("100 FlowControl Request", reply: "$JS.FC.x")))
        _ = step(.created(attempt: 1, .success(())))
        #expect(step(.inspected(attempt: 1, .success(Self.state(1, 9)))) == ["reading 1 to 9", "deliver 5 b", "remove 1", "create 2 from 6"])
    }

    @Test mutating func whatIsTrimmedIsToldAndEndsTheReading() {
        _ = step(.read(from: 5))
        #expect(receive(8) == [])
        _ = step(.created(attempt: 1, .success(())))
        #expect(step(.inspected(attempt: 1, .success(Self.state(8, 8)))) == ["remove 1", "trimmed to 8"])
        #expect(receive(9) == [])
    }

    @Test mutating func theEndOfAnEmptyStreamIsAPlaceToReadFrom() {
        for (from, state) in [(1, Self.state(0, 0)), (1, Self.state(1, 0)), (10, Self.state(10, 9))] as [(UInt64, JetStreamState)] {
            consumer = OrderedConsumer(heartbeat: .milliseconds(500), isConnected: true)
            _ = step(.read(from: from))
            _ = step(.created(attempt: 1, .success(())))
            #expect(step(.inspected(attempt: 1, .success(state))) == ["reading \(state.first) to \(state.last)"])
        }
    }

    @Test mutating func aLostConnectionIsWaitedForAndTheReadingGoesOnBehindTheLastMessage() {
        follow()
        _ = receive(5)
        #expect(step(.disconnected) == ["remove 1"])
        #expect(consumer.deadline == nil)
        #expect(step(.read(from: 6)) == [])
        #expect(step(.connected) == ["create 2 from 6"])
        #expect(step(.connected) == [])
    }

    @Test mutating func aConsumerThatEndsIsReplaced() {
        follow()
        #expect(step(.received(attempt: 1, Self.status("409 Consumer Deleted"))) == ["remove 1", "create 2 from 5"])
    }

    @Test mutating func attemptsThatFailAreSpacedOut() throws {
        var waits: [TimeAmount] = []
        _ = step(.read(from: 1))
        var told = 0
        for attempt: UInt64 in 1...20 {
            let effects = step(.created(attempt: attempt, .failure(.noResponders)))
            told += effects.count { $0.hasPrefix("stalled") }
            guard attempt > 1 else { continue }
            let before = now
            #expect(try wait() == ["create \(attempt + 1) from 1"])
            waits.append(now - before)
        }
        #expect(told == 1)
        #expect(waits.allSatisfy { $0 >= .milliseconds(40) && $0 <= .seconds(1) } && waits.suffix(5).allSatisfy { $0 >= .milliseconds(500) })
    }

    @Test mutating func theSequenceIsReadWithAndWithoutADomain() {
        follow()
        for (reply, isNext) in [
            ("$JS.ACK.hub.hash.FG.c.1.5.4.17.0", true), ("$JS.ACK.hub.hash.FG.c.1.6.4.17.0.random", true), ("$JS.ACK.FG.c.1.7.4.17.0", true),
            ("$JS.ACK.FG.c.1.8.4.17.0.x", false), ("", false), ("$JS.ACK", false), ("$JS.ACK.FG.c.1.x.4.17.0", false), ("a.b.c.d.e.8.g.h.i", false),
        ] {
            let effects = step(.received(attempt: 1, NATSMessage(subject: "i", subscription: 2, reply: reply)))
            #expect((effects.first?.hasPrefix("deliver") == true) == isNext, "\(reply)")
        }
        #expect(consumer.next == 8)
    }
}

@Suite struct OrderedAnswersTests {
    @Test func outcomesAreToldInTheOrderOfTheAppends() {
        var answers = OrderedAnswers()
        for id: UInt64 in 1...4 { answers.await(id) }
        let refusal = LogError(.wrongSequence, "")
        #expect(answers.settle(3, .failure(refusal)) == [])
        #expect(answers.settle(2, .success(8)) == [])
        #expect(answers.settle(1, .success(7)) == [.appended(id: 1, sequence: 7), .appended(id: 2, sequence: 8), .notAppended(id: 3, refusal)])
        #expect(answers.settle(1, .success(7)) == [], "an outcome is told once")
        #expect(answers.settle(4, .success(9)) == [.appended(id: 4, sequence: 9)])
    }
}
