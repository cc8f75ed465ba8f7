import Foundation
import Testing

@testable import FeedCore

@Suite struct SimulationTests {
    /// `SEEDS=N` runs N seeds, from `FIRST` on; `SEED=N` replays one and prints what led to the end, with `TRACE=1` everything;
    /// `SURVEY=1` goes on after a broken one.
    @Test func manySeedsBreakNoInvariant() async {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap({ UInt64($0) }) {
            let isWhole = environment["TRACE"] != nil
            let simulation = Simulation(seed: seed, trace: Trace(isWhole: isWhole))
            simulation.run()
            if isWhole { print(simulation.trace?.all ?? "") }
            print(simulation.report)
            #expect(simulation.verdict.broken == nil)
            return
        }
        let first = environment["FIRST"].flatMap { UInt64($0) } ?? 1
        let count = environment["SEEDS"].flatMap { UInt64($0) } ?? 40
        var tally = Tally(first: first, goesOn: environment["SURVEY"] != nil)
        await tally.run(first..<first + count)
        print(tally.summary)
        guard let seed = tally.broken else { return }
        let replay = Simulation(seed: seed, trace: Trace(isWhole: false))
        replay.run()
        Issue.record("\(replay.report)")
    }
}

/// What many runs amount to.
private struct Tally {
    /// What one run came to.
    struct Run: Sendable {
        let seed: UInt64
        let isBroken: Bool
        let report: String
        let steps: Int
        let time: Nanoseconds
        let faults: [Int]
        let rows: (live: Int, others: Int)

        init(seed: UInt64) {
            let simulation = Simulation(seed: seed)
            simulation.run()
            self.seed = seed
            isBroken = simulation.verdict.broken != nil
            report = simulation.report
            steps = simulation.steps
            time = simulation.queue.now
            faults = simulation.venue.faults.counts
            rows = simulation.rows
        }
    }

    let first: UInt64
    let goesOn: Bool
    private let began = ContinuousClock.now
    private var runs = 0
    private var steps = 0
    private var time: Nanoseconds = 0
    private var rows = (live: 0, others: 0)
    private var faults = [Int](repeating: 0, count: Fault.allCases.count)
    /// The lowest seed that broke an invariant.
    private(set) var broken: UInt64?

    init(first: UInt64, goesOn: Bool) {
        self.first = first
        self.goesOn = goesOn
    }

    /// The seeds in order, on every processor, up to the first that breaks something.
    mutating func run(_ seeds: Range<UInt64>) async {
        var left = seeds.makeIterator()
        await withTaskGroup(of: Run.self) { group in
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
                if let seed = left.next() { group.addTask { Run(seed: seed) } }
            }
            while let run = await group.next() {
                add(run)
                if goesOn || broken == nil, let seed = left.next() { group.addTask { Run(seed: seed) } }
            }
        }
    }

    private mutating func add(_ run: Run) {
        runs += 1
        steps += run.steps
        time += run.time
        rows = (rows.live + run.rows.live, rows.others + run.rows.others)
        for (fault, count) in run.faults.enumerated() { faults[fault] += count }
        guard run.isBroken else { return }
        if goesOn { print(run.report) }
        broken = min(broken ?? run.seed, run.seed)
    }

    var summary: String {
        let occurred = zip(Fault.allCases, faults).sorted { $0.1 > $1.1 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        let outcome = broken.map { "SEED=\($0) broke an invariant" } ?? "no invariant broke"
        return """
            \(runs) seeds from \(first) on: \(steps) steps, \(time / .seconds(3600)) virtual hours, in \(ContinuousClock.now - began): \(outcome)
            faults: \(occurred); rows: \(rows.live) live, \(rows.others) others
            """
    }
}
