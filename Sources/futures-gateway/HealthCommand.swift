import ArgumentParser
import AsyncHTTPClient
import Foundation
import FuturesFeed
import NIOCore
import NIOHTTP1
import NIOSSL

/// `futures-gateway health`, for a container's HEALTHCHECK, so that the image needs no `curl`.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Check whether a running gateway answers, or whether data flows.",
        discussion: """
            Reads the settings of serve (--host, --port, --config and the environment), so that it finds a gateway on the same machine. Prints one line and \
            exits with 0 if the response is 200, otherwise with 1.
            """)

    @OptionGroup var flags: Flags<ServeSettings>
    @Flag(name: .long, help: "Check whether data flows (/readyz) instead of whether the process answers (/healthz).")
    var ready = false
    @Option(name: .long, help: "Another address, such as https://127.0.0.1:8443.")
    var url: String?
    @Option(name: .long, help: "Seconds to wait, 1 to 60.")
    var timeout = 3

    func validate() throws {
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout must be 1 to 60.") }
    }

    func run() async throws {
        let address = try url ?? Self.address(flags.given, ProcessInfo.processInfo.environment)
        let target = address + (ready ? "/readyz" : "/healthz")
        let (words, isWell) = await Self.ask(target, timeout: .seconds(Int64(timeout)))
        announce("\(target): \(words)")
        guard isWell else { throw ExitCode.failure }
    }

    /// The URL of a gateway with these settings, as seen from the same machine.
    static func address(_ flags: [String: String], _ environment: [String: String]) throws -> String {
        // Each setting is checked separately. Whether `serve` would accept them together does not matter here.
        var mistakes: [String] = []
        let settings = ServeConfiguration.settings(flags: flags, environment: environment, mistakes: &mistakes)
        guard mistakes.isEmpty else { throw Mistakes(sentences: mistakes).report() }
        let host =
            switch settings.host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "[::1]"
            case let host where host.contains(":"): "[\(host)]"
            case let host: host
            }
        return "\(settings.tlsCertificate == nil ? "http" : "https")://\(host):\(settings.port)"
    }

    private static func ask(_ target: String, timeout: TimeAmount) async -> (String, Bool) {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.proxy = nil
        // A certificate rarely names loopback. Anyone who can intercept loopback could also answer in the gateway's place.
        if isLoopback(target) { configuration.tlsConfiguration = Self.trusting }
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        var request = HTTPClientRequest(url: target)
        request.headers.add(name: "Connection", value: "close")
        let result: (String, Bool)
        do {
            let response = try await client.execute(request, timeout: timeout)
            let body = try? await response.body.collect(upTo: 1024)
            let words = body.map { String(buffer: $0).prefix { $0 != "\n" } } ?? ""
            result = ("\(response.status.code) \(words)", response.status == .ok)
        } catch {
            result = (plainWords(error), false)
        }
        try? await client.shutdown()
        return result
    }

    private static var trusting: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        return configuration
    }

    static func isLoopback(_ target: String) -> Bool {
        guard let host = URL(string: target)?.host() else { return false }
        return host == "localhost" || host == "::1" || host == "[::1]" || host.wholeMatch(of: /127\.\d+\.\d+\.\d+/) != nil
    }
}
