// swift-tools-version: 6.2
import PackageDescription

// What reads bytes from a network, as it stands in the gateway: Linked/ points to its sources, and this package names only what needs no socket.
let watched: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"]),
]

let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .target(
            name: "FeedCore",
            dependencies: [
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OrderedCollections", package: "swift-collections"),
            ],
            path: "Linked/FeedCore", swiftSettings: watched),
        .target(
            name: "FuturesFeed", dependencies: ["FeedCore", .product(name: "NIOCore", package: "swift-nio")], path: "Linked/FuturesFeed",
            swiftSettings: watched),
        .target(name: "FuturesGateway", dependencies: ["FuturesFeed", "FeedCore"], path: "Linked/FuturesGateway", swiftSettings: watched),
        .target(name: "MicroHTTP", path: "Linked/MicroHTTP", swiftSettings: watched),
        .target(name: "Watch", path: "Linked/Watch", swiftSettings: watched),
        .systemLibrary(name: "CFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CFuzzer", "FeedCore", "FuturesFeed", "FuturesGateway", "MicroHTTP", "Watch", .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: watched, linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]),
    ],
    swiftLanguageModes: [.v6]
)
