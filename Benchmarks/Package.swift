// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The rooms a frame passes through, as they stand in the gateway: Linked/ points to its sources, and this package names only what is hot, so
// that it builds without the sockets.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .target(
            name: "FeedCore",
            dependencies: [
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
            ],
            path: "Linked/FeedCore", swiftSettings: strict),
        .target(
            name: "FuturesFeed", dependencies: ["FeedCore"], path: "Linked/FuturesFeed", swiftSettings: strict),
        .target(
            name: "FuturesGateway", dependencies: ["FuturesFeed"], path: "Linked/FuturesGateway", swiftSettings: strict),
        .target(name: "Workload", dependencies: ["FuturesGateway", "FuturesFeed", "FeedCore"], swiftSettings: strict),
        .systemLibrary(name: "CEpoll"),
        .executableTarget(name: "crowd", dependencies: ["CEpoll"], swiftSettings: strict),
        .executableTarget(name: "ingest", dependencies: ["Workload", "FuturesGateway"], swiftSettings: strict),
        .executableTarget(
            name: "IngestBenchmarks",
            dependencies: ["Workload", .product(name: "Benchmark", package: "benchmark")],
            path: "IngestBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]),
    ],
    swiftLanguageModes: [.v6]
)
