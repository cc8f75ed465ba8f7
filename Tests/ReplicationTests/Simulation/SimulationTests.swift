import Foundation
import Testing

@testable import Replication

@Suite struct SimulationTests {
    /// `SEEDS=N` runs N seeds, from `FIRST` on; `SEED=N` replays one, with `TRACE=1` all of it; `SURVEY=1` goes on after a broken one.
    @Test func manySeedsBreakNoInvariant() async {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap({ UInt64($0) }) {
            var simulation = Simulation(seed: seed, trace: environment["TRACE"] != nil)
            simulation.run()
            print(simulation.report)
            #expect(simulation.world.verdict.broken == nil)
            return
        }
        let first = environment["FIRST"].flatMap { UInt64($0) } ?? 1
        let count = environment["SEEDS"].flatMap { UInt64($0) } ?? 40
        var tally = Tally()
        await tally.run(first..<first + count, goesOn: environment["SURVEY"] != nil)
        print(tally.summary)
        if let report = tally.report { Issue.record("\(report)") }
    }
}

/// What many runs amount to.
private struct Tally {
    struct Run: Sendable {
        let seed: UInt64
        let report: String?
        let ticks: Int
        let events: Int
        let terms: Int
        let joins: Int
        let rereads: UInt64
        let resets: UInt64
        let voids: UInt64
        let readers: (exact: Int, reset: Int)

        init(seed: UInt64) {
            var simulation = Simulation(seed: seed)
            simulation.run()
            self.seed = seed
            report = simulation.world.verdict.broken == nil ? nil : simulation.report
            (ticks, events) = (simulation.world.tick, simulation.world.register.entries.count)
            terms = simulation.nodes.reduce(0) { $0 + $1.terms }
            joins = simulation.nodes.reduce(0) { $0 + $1.joins }
            rereads = simulation.nodes.reduce(0) { $0 + $1.mirror.rereads }
            resets = simulation.nodes.reduce(0) { $0 + $1.mirror.resets }
            voids = simulation.nodes.reduce(0) { $0 + $1.mirror.voids }
            readers = (simulation.exact, simulation.resets)
        }
    }

    private let began = ContinuousClock.now
    private var (runs, ticks, events, terms, joins) = (0, 0, 0, 0, 0)
    private var (rereads, resets, voids): (UInt64, UInt64, UInt64) = (0, 0, 0)
    private var readers = (exact: 0, reset: 0)
    /// The lowest seed that broke an invariant, and its report.
    private var broken: (seed: UInt64, report: String)?
    var report: String? { broken?.report }

    mutating func run(_ seeds: Range<UInt64>, goesOn: Bool) async {
        var left = seeds.makeIterator()
        await withTaskGroup(of: Run.self) { group in
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
                if let seed = left.next() { group.addTask { Run(seed: seed) } }
            }
            while let run = await group.next() {
                add(run, isPrinted: goesOn)
                if goesOn || broken == nil, let seed = left.next() { group.addTask { Run(seed: seed) } }
            }
        }
    }

    private mutating func add(_ run: Run, isPrinted: Bool) {
        runs += 1
        ticks += run.ticks
        events += run.events
        terms += run.terms
        joins += run.joins
        rereads += run.rereads
        resets += run.resets
        voids += run.voids
        readers = (readers.exact + run.readers.exact, readers.reset + run.readers.reset)
        guard let report = run.report else { return }
        if isPrinted { print(report) }
        if broken.map({ run.seed < $0.seed }) ?? true { broken = (run.seed, report) }
    }

    var summary: String {
        """
        \(runs) seeds: \(ticks) ticks, \(events) events, \(terms) terms, in \(ContinuousClock.now - began): \
        \(broken.map { "SEED=\($0.seed) broke an invariant" } ?? "no invariant broke")
        the log was read again \(rereads) times, readers began anew \(resets) times, \(voids) messages were void, \
        \(readers.exact) readers resumed exactly and \(readers.reset) did not; hot standbys went on with \(joins) streams at once
        """
    }
}
