import Foundation
import Testing

@Suite struct SimulationTests {
    /// `SEEDS=N` runs N seeds, from `FIRST` on; `SEED=N` replays one and prints what led to the end.
    @Test func manySeedsBreakNoInvariant() {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SEED"].flatMap({ UInt64($0) }) {
            let simulation = Simulation(seed: seed, traces: true)
            simulation.run()
            print(simulation.report)
            #expect(simulation.verdict.broken == nil)
            return
        }
        let first = environment["FIRST"].flatMap { UInt64($0) } ?? 1
        let count = environment["SEEDS"].flatMap { UInt64($0) } ?? 40
        var steps = 0
        let began = ContinuousClock.now
        for seed in first..<first + count {
            let simulation = Simulation(seed: seed)
            simulation.run()
            steps += simulation.steps
            if simulation.verdict.broken != nil, environment["SURVEY"] != nil {
                print(simulation.report)
                continue
            }
            guard simulation.verdict.broken == nil else {
                let replay = Simulation(seed: seed, traces: true)
                replay.run()
                print(replay.report)
                Issue.record("\(simulation.report)")
                return
            }
        }
        print("\(count) seeds from \(first) on, \(steps) steps, \(ContinuousClock.now - began): no invariant broke")
    }
}
