// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// The commit that the program names as its own. Only packages and `make run` set it: with each new one the program is linked anew.
let commit = Context.environment["BUILD_COMMIT"].map { $0.filter { $0.isLetter || $0.isNumber || $0 == "-" } } ?? ""

let package = Package(
    name: "FuturesGateway",
    // `OSAllocatedUnfairLock` and `Observation` are there from here on.
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "FuturesFeed", targets: ["FuturesFeed"]),
        .library(name: "FuturesGatewayClient", targets: ["FuturesGatewayClient"]),
        .executable(name: "futures-gateway", targets: ["futures-gateway"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "Zlib", dependencies: ["CZlib"], swiftSettings: strict),
        .target(name: "CBuild", cSettings: commit.isEmpty ? [] : [.define("BUILD_COMMIT", to: "\"\(commit)\"")]),
        .target(name: "CFiles"),
        .target(name: "MicroHTTP", dependencies: ["CMicroHTTPD"], swiftSettings: strict),
        .target(name: "WebSockets", swiftSettings: strict),
        .target(name: "FeedCore", swiftSettings: strict),
        .target(name: "FeedDialects", dependencies: ["FeedCore"], swiftSettings: strict),
        .target(name: "FeedObserving", dependencies: ["FeedCore"], swiftSettings: strict),
        .target(
            name: "FuturesFeed",
            dependencies: [
                "FeedCore",
                "FeedDialects",
                "FeedObserving",
                "NATS",
                "ReplicatedLog",
                "Replication",
                "WebSockets",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "GatewayAccess",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
            ],
            swiftSettings: strict),
        .target(
            name: "DemoExchange",
            dependencies: [
                "Zlib",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(name: "Rings", dependencies: ["FeedCore"], swiftSettings: strict),
        .target(name: "ReplicatedLog", swiftSettings: strict),
        .target(
            name: "Replication",
            dependencies: [
                "FeedCore", "FeedDialects", "Rings", "ReplicatedLog", .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: strict),
        .target(
            name: "Tape",
            dependencies: [
                "CZlib", "CZstd", "Zlib", "Rings", "FeedCore", "FeedDialects", "Replication",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(
            name: "NATS",
            dependencies: [
                "ReplicatedLog",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .target(
            name: "FuturesGateway",
            // The types of FeedCore and FeedDialects are seen through FuturesFeed. Both are named here and below, so that a change of their layout has
            // this target built anew.
            dependencies: [
                "FeedCore",
                "FeedDialects",
                "FeedObserving",
                "FuturesFeed",
                "Rings",
                "GatewayAccess",
                "MicroHTTP",
                "Replication",
                "Tape",
                "WebSockets",
                "CBuild",
                "CFiles",
                "Zlib",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            exclude: ["Web", "Agents/tools.json"],
            swiftSettings: strict),
        .target(name: "ServerSentEvents", swiftSettings: strict),
        .target(
            name: "FuturesGatewayClient", dependencies: ["FeedCore", "FeedDialects", "FeedObserving", "ServerSentEvents"], swiftSettings: strict),
        .executableTarget(
            name: "futures-gateway",
            dependencies: [
                "FuturesGateway",
                "MicroHTTP",
                "FeedCore",
                "FeedDialects",
                "ServerSentEvents",
                "GatewayAccess",
                "DemoExchange",
                "Tape",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Yams", package: "Yams"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(name: "WebSocketsTests", dependencies: ["FeedCore", "WebSockets"], swiftSettings: strict),
        .testTarget(name: "FeedCoreTests", dependencies: ["FeedCore"], exclude: ["Simulation/simulate"], swiftSettings: strict),
        .testTarget(
            name: "FeedDialectsTests", dependencies: ["FeedCore", "FeedDialects", "GatewayTestSupport"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .testTarget(name: "RingsTests", dependencies: ["Rings", "FeedCore"], swiftSettings: strict),
        .testTarget(
            name: "FuturesFeedTests",
            dependencies: [
                "FeedCore",
                "FeedDialects",
                "FeedObserving",
                "FuturesFeed",
                "DemoExchange",
                "GatewayTestSupport",
                "Replication",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FuturesGatewayClientTests",
            dependencies: [
                "Rings",
                "FeedCore",
                "FeedDialects",
                "FeedObserving",
                "FuturesGatewayClient",
                "GatewayTestSupport",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GatewayAccessTests",
            dependencies: [
                "GatewayAccess",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(name: "MicroHTTPTests", dependencies: ["CMicroHTTPD", "GatewayTestSupport", "MicroHTTP"], swiftSettings: strict),
        .testTarget(
            name: "DemoExchangeTests", dependencies: ["DemoExchange", "GatewayTestSupport"], exclude: ["Fixtures"], swiftSettings: strict),
        .target(
            name: "GatewayTestSupport",
            dependencies: [
                "CZlib",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            path: "Tests/GatewayTestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "FuturesGatewayTests",
            dependencies: [
                "FeedCore",
                "FeedDialects",
                "Rings",
                "FuturesGateway",
                "GatewayAccess",
                "DemoExchange",
                "GatewayTestSupport",
                "ReplicatedLog",
                "Replication",
                "SimulatedLog",
                "Tape",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(name: "SimulatedLog", dependencies: ["FeedCore", "ReplicatedLog"], path: "Tests/SimulatedLog", swiftSettings: strict),
        .testTarget(
            name: "ReplicationTests",
            dependencies: ["Rings", "FeedCore", "FeedDialects", "ReplicatedLog", "Replication", "SimulatedLog"], exclude: ["Simulation/simulate"],
            swiftSettings: strict),
        .testTarget(
            name: "TapeTests", dependencies: ["CZlib", "Rings", "FeedCore", "Replication", "Tape"], swiftSettings: strict),
        .testTarget(
            name: "NATSTests",
            dependencies: [
                "FeedCore",
                "NATS",
                "ReplicatedLog",
                "SimulatedLog",
                "GatewayTestSupport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            exclude: ["Servers/peer.py"],
            swiftSettings: strict),
        // The Autobahn suite's testees, run by `make conformance`.
        .executableTarget(
            name: "conformance-server", dependencies: ["MicroHTTP", "WebSockets"], path: "Tests/Conformance/Server", swiftSettings: strict),
        .executableTarget(
            name: "conformance-client",
            dependencies: [
                "FuturesFeed",
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/Conformance/Client",
            swiftSettings: strict),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "futures-gateway",
                "FeedDialects",
                "FuturesFeed",
                "FuturesGateway",
                "GatewayAccess",
                "GatewayTestSupport",
                "MicroHTTP",
                "ServerSentEvents",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "DemoExchange",
                "FuturesGatewayClient",
                "GatewayTestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// The gateway needs Linux and libmicrohttpd; elsewhere the package is its library.
#if !os(Linux)
    let libraries = [
        "FeedCore", "FeedDialects", "FeedObserving", "FuturesFeed", "Rings", "NATS", "ReplicatedLog", "Replication", "ServerSentEvents",
        "FuturesGatewayClient", "WebSockets",
    ]
    package.products.removeAll { $0.name == "futures-gateway" }
    package.targets.removeAll { !libraries.contains($0.name) }
#endif

// What measures and fuzzes is built by `make`, and by nobody who uses the package.
let environment = Context.environment
if environment["WITH_TOOLS"] != nil || environment["WITH_BENCHMARKS"] != nil {
    package.targets += [
        .target(name: "Workload", dependencies: ["Rings", "FeedCore", "FeedDialects"], path: "Benchmarks/Workload", swiftSettings: strict),
        .executableTarget(
            name: "ingest", dependencies: ["FeedCore", "ReplicatedLog", "Replication", "Workload"], path: "Benchmarks/ingest", swiftSettings: strict),
        .executableTarget(name: "funding-spread", path: "Examples/funding-spread", swiftSettings: strict),
        .executableTarget(name: "live-price", dependencies: ["FuturesGatewayClient"], path: "Examples/live-price", swiftSettings: strict),
        .executableTarget(
            name: "tape", dependencies: ["Rings", "FeedCore", "Replication", "Tape"], path: "Benchmarks/tape",
            swiftSettings: strict),
        .systemLibrary(name: "CEpoll", path: "Benchmarks/CEpoll"),
        .executableTarget(name: "crowd", dependencies: ["CEpoll", "CMicroHTTPD"], path: "Benchmarks/crowd", swiftSettings: strict),
        .executableTarget(
            name: "suspended-reader", dependencies: ["FuturesGatewayClient"], path: "Tests/Suspension/SwiftReader", swiftSettings: strict),
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer", "DemoExchange", "Rings", "FeedCore", "FeedDialects", "FuturesFeed", "FuturesGateway", "GatewayAccess", "MicroHTTP",
                "NATS", "Replication", "ServerSentEvents", "Tape", "WebSockets",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Tests/Fuzz/Harness",
            swiftSettings: strict),
    ]
}

// `make docs` needs a package that nothing else needs.
if environment["WITH_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// `swift package benchmark` needs a package that nothing else needs.
if environment["WITH_BENCHMARKS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []))
    package.targets.append(
        .executableTarget(
            name: "IngestBenchmarks",
            dependencies: ["Workload", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/IngestBenchmarks",
            swiftSettings: strict,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]))
}
