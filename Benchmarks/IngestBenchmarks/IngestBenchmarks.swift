import Benchmark
import Workload

let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.cpuTotal, .wallClock, .throughput], timeUnits: .nanoseconds, warmupIterations: 2, maxDuration: .seconds(2), maxIterations: 200)
    for kind in FrameKind.allCases {
        for stage in Stage.allCases {
            let workload = Workload(kind, frames: kind == .markPrices ? 20 : 1000)
            var configuration = Benchmark.defaultConfiguration
            configuration.tags = ["kind": kind.rawValue, "stage": stage.rawValue]
            Benchmark("\(kind.title): \(stage.rawValue) of \(workload.frames.count) frames", configuration: configuration) { benchmark in
                for _ in benchmark.scaledIterations { blackHole(workload.run(stage)) }
            }
        }
    }
}
