import FeedCore
import FuturesFeed
import Replication
import Testing

@testable import FuturesGateway

/// The requests that an event answers.
@Suite struct WaitersTests {
    /// One request of each kind, numbered 1 to 5, with its number as its timer.
    private func one(ofEach longer: @escaping () -> Duration? = { nil }) -> Waiters<Int> {
        var waiters = Waiters<Int>()
        for (number, awaited) in [AwaitedEvent.value, .fetch, .change, .history, .current].enumerated() {
            waiters.add(Waiters.Waiter(awaited: awaited, timer: number + 1, longer: longer, answer: { _ in }), UInt64(number + 1))
        }
        return waiters
    }

    private func event(_ kind: FeedEvent.Kind) -> EncodedEvent {
        EncodedEvent(FeedEvent(stream: HubParts.name, id: EventID(epoch: 1, sequence: 1), kind: kind), receivedAt: nil)
    }

    @Test func eachKindOfEventAnswersTheRequestsThatWaitForIt() throws {
        let (content, error) = (try HubParts.content(1), FeedError(.timedOut, "no answer"))
        let refusal = FeedError(.subscriptionRejected, "no such coin")
        let cases: [(FeedEvent.Kind, [Int], isFailure: Bool)] = [
            (.fetched(content), [1, 2, 3, 4, 5], false), (.updated(content), [1, 3, 5], false),
            (.status(.stale, ageMs: 0, unverifiedMs: 0), [3, 5], false),
            (.failed(error, fetch: true), [2, 4], true), (.failed(error, fetch: false), [], false),
            (.failed(refusal, fetch: false), [1, 4, 5], true),
            (.failed(refusal, fetch: true), [2, 4], true), (.connected, [], false),
            (.disconnected(reason: "a test"), [], false), (.ended, [], false),
        ]
        for (kind, expected, isFailure) in cases {
            var waiters = one()
            let (answered, answer) = waiters.take(answeredBy: event(kind), isConnecting: false)
            #expect(answered.map(\.timer).sorted() == expected, "\(kind)")
            #expect((try? answer.get()) == nil ? isFailure : !isFailure, "\(kind)")
            #expect(waiters.take { _ in true }.count == 5 - expected.count, "\(kind)")
            #expect(waiters.isEmpty)
        }
    }

    @Test func contentThatIsNotVerifiedYetDoesNotAnswerARequestForCurrentContent() throws {
        var waiters = one()
        let (answered, _) = waiters.take(answeredBy: event(.fetched(try HubParts.content(1))), isConnecting: true)
        #expect(answered.map(\.timer).sorted() == [1, 2, 3, 4])
        #expect(waiters.take(answeredBy: event(.status(.live, ageMs: 0, unverifiedMs: 0)), isConnecting: false).waiters.map(\.timer) == [5])
    }

    @Test func aRequestWaitsAsLongAsItsOwnerSays() {
        var left: [Duration?] = [.seconds(1), nil]
        var waiters = one { left.removeFirst() }
        #expect(waiters.patience(of: 1) == .seconds(1))
        waiters.setTimer(11, of: 1)
        #expect(waiters.patience(of: 1) == nil)
        #expect(waiters.remove(1)?.timer == 11)
        #expect(waiters.remove(1) == nil && waiters.patience(of: 1) == nil, "it has ended")
    }
}
