import Foundation
import GatewayTestSupport
import NATS
import NIOConcurrencyHelpers

/// A real server in a process of its own. `Tests/Scale/servers` fetches the executables; a test without one skips.
final class NATSServer: Sendable {
    static let folder: URL = {
        if let folder = ProcessInfo.processInfo.environment["NATS_SERVERS"] { return URL(filePath: folder) }
        return URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../.build/nats").standardized
    }()
    static let advice = "Tests/Scale/servers has not put it into .build/nats"

    static func has(_ versions: String...) -> Bool {
        versions.allSatisfy { FileManager.default.isExecutableFile(atPath: folder.appending(path: "\($0)/nats-server").path) }
    }

    let version: String
    let name: String
    let port: ReservedPort
    let address: String
    private let place: URL
    private let process: NIOLockedValueBox<Process?>

    /// - Parameters:
    ///   - settings: lines of its configuration, beside names and ports.
    ///   - limits: lines of its block `jetstream`.
    init(_ version: String, name: String = "a", settings: String = "", limits: String = "") throws {
        self.version = version
        self.name = name
        port = try ReservedPort()
        address = "nats://127.0.0.1:\(port.number)"
        place = FileManager.default.temporaryDirectory.appending(path: "nats-\(UUID().uuidString)")
        process = NIOLockedValueBox(nil)
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let text = "server_name: \(name)\nlisten: \"127.0.0.1:\(port.number)\"\njetstream { store_dir: \"\(store.path)\"\n\(limits) }\n\(settings)\n"
        try Data(text.utf8).write(to: place.appending(path: "server.conf"))
    }

    /// A server that runs. Whoever asked for it has to stop it: an object may end with its last use.
    static func started(_ version: String, name: String = "a", settings: String = "", limits: String = "") async throws -> NATSServer {
        let server = try NATSServer(version, name: name, settings: settings, limits: limits)
        try await server.start()
        return server
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: place)
    }

    /// Where the streams are.
    var store: URL { place.appending(path: "store") }

    func file(_ name: String, _ text: String) throws -> String {
        let url = place.appending(path: name)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    /// Starts it, and returns when it says that it is ready.
    func start() async throws {
        let process = Process()
        process.executableURL = Self.folder.appending(path: "\(version)/nats-server")
        process.arguments = ["-c", place.appending(path: "server.conf").path]
        let output = Pipe()
        process.standardError = output
        process.standardOutput = FileHandle.nullDevice
        let ready = Mailbox<Void>()
        try process.run()
        let reading = output.fileHandleForReading
        Thread.detachNewThread {
            var log = ""
            // Not `read(upToCount:)`, which waits for all of it.
            while case let data = reading.availableData, !data.isEmpty {
                guard log.utf8.count < 1 << 16 else { continue }
                log += String(decoding: data, as: UTF8.self)
                if log.contains("Server is ready") { ready.post(()) }
            }
            ready.end(Unexpected("nats-server ended:\n\(log)"))
        }
        self.process.withLockedValue { $0 = process }
        try await ready.next("a server that is ready")
    }

    func signal(_ number: Int32) {
        if let id = process.withLockedValue({ $0?.processIdentifier }) { kill(id, number) }
    }

    /// kill -9; returns when it has ended.
    func stop() {
        guard let process = process.withLockedValue({ $0.take() }), process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}

/// Three servers that know each other.
struct NATSCluster: Sendable {
    let servers: [NATSServer]

    init(_ version: String) async throws {
        let routes = try (0..<3).map { _ in try ReservedPort() }
        let list = routes.map { "\"nats://127.0.0.1:\($0.number)\"" }.joined(separator: ", ")
        servers = try zip(["a", "b", "c"], routes).map { name, route in
            try NATSServer(version, name: name, settings: "cluster { name: t, listen: \"127.0.0.1:\(route.number)\", routes: [\(list)] }")
        }
        for server in servers { try await server.start() }
    }

    func stop() { for server in servers { server.stop() } }
}
