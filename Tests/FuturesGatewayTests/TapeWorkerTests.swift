import Dispatch
import NIOConcurrencyHelpers
import Testing

@testable import FuturesGateway

/// Whose turn it is at the thread that reads the tape.
@Suite struct TapeWorkerTests {
    private let worker = TapeWorker(directory: "/nonexistent")
    private let order = NIOLockedValueBox<[String]>([])

    /// Work of so many slices, each of which notes its name.
    private func work(_ name: String, slices: Int = 1) -> TapeWorker.Work {
        let left = NIOLockedValueBox(slices)
        return { [order] _ in
            order.withLockedValue { $0.append(name) }
            return left.withLockedValue { left in
                left -= 1
                return left == 0
            }
        }
    }

    /// Starts the thread, and returns what it did once everything is done that waits.
    private func run() async -> [String] {
        let done = DispatchSemaphore(value: 0)
        let last = NIOLockedValueBox(0)
        // Twice in a row nothing else was done: nothing else waits.
        let count: @Sendable () -> Int = { [order] in order.withLockedValue { $0.count } }
        worker.perform(for: .caller("last")) { _ in
            let isQuiet = last.withLockedValue { last in
                defer { last = count() }
                return last == count()
            }
            if isQuiet { done.signal() }
            return isQuiet
        }
        worker.start()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                done.wait()
                continuation.resume()
            }
        }
        await worker.stop(within: .seconds(10))
        return order.withLockedValue { $0 }
    }

    @Test func callersTakeTurnsHoweverMuchOneOfThemAsksFor() async {
        for number in 0..<5 { worker.perform(for: .caller("a"), work("a\(number)", slices: 3)) }
        worker.perform(for: .caller("b"), work("b"))
        let done = await run()
        #expect(done.firstIndex(of: "b") == 1 && done.count == 16)
    }

    @Test(arguments: [false, true]) func aStopWaitsForTheEndOfASlice(doesTheSliceEnd: Bool) async {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (goesOn, isOver) = (DispatchSemaphore(value: 0), NIOLockedValueBox(false))
        worker.perform(for: .caller("a")) { _ in
            begin.yield()
            goesOn.wait()
            isOver.withLockedValue { $0 = true }
            return true
        }
        worker.start()
        for await _ in begun { break }
        if doesTheSliceEnd { goesOn.signal() }
        let hasEnded = await worker.stop(within: doesTheSliceEnd ? .seconds(10) : .milliseconds(20))
        #expect(hasEnded == doesTheSliceEnd)
        #expect(isOver.withLockedValue { $0 } == doesTheSliceEnd)
        goesOn.signal()
    }

    @Test func whatIsNotDoneAfterItsSliceGoesBehindWhatWaits() async {
        worker.perform(for: .caller("a"), work("long", slices: 4))
        for name in ["x", "y"] { worker.perform(for: .caller("a"), work(name)) }
        #expect(await run() == ["long", "x", "y", "long", "long", "long"])
    }

    @Test func readersThatResumeComeFirstAndLeaveOthersATurn() async {
        for number in 0..<3 { worker.perform(for: .caller("a"), work("a\(number)")) }
        for _ in 0..<10 { worker.perform(for: .resuming, work("r")) }
        let done = await run()
        #expect(done.prefix(4).allSatisfy { $0 == "r" } && done[4] == "a0")
        #expect(done.count { $0 == "r" } == 10 && done.count == 13)
    }

    @Test func workThatNobodyWaitsForIsNotDoneAndTakesNoPlace() async {
        let most = TapeWorker.mostWaiting / TapeWorker.share
        let leases = (0..<most).map { _ in worker.perform(for: .caller("a"), work("a")) }
        #expect(leases.allSatisfy { $0 != nil } && worker.perform(for: .caller("a"), work("late")) == nil)
        for lease in leases.dropLast() { lease?.leave() }
        #expect(worker.perform(for: .caller("a"), work("next")) != nil)
        #expect(await run() == ["a", "next"])
    }

    @Test func oneCallerCannotTakeAllPlaces() {
        while worker.perform(for: .caller("a"), work("a")) != nil {}
        #expect(worker.perform(for: .caller("b"), work("b")) != nil)
        while worker.perform(for: .caller("b"), work("b")) != nil {}
        #expect(worker.perform(for: .caller("c"), work("c")) == nil, "there are so many places in all")
        #expect(worker.perform(for: .resuming, work("r")) != nil, "but those for readers that resume")
    }

    @Test func aSliceIsLateAfterFiftyMilliseconds() async {
        let took = NIOLockedValueBox(Duration.zero)
        worker.perform(for: .caller("a")) { isLate in
            let began = ContinuousClock.now
            while !isLate() {}
            took.withLockedValue { $0 = ContinuousClock.now - began }
            return true
        }
        _ = await run()
        // The thread itself may have to wait for a processor.
        #expect(took.withLockedValue { $0 } < TapeWorker.slice + .seconds(5))
    }
}
