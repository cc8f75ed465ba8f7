import AsyncHTTPClient
import FoundationEssentials
import FuturesFeed
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import ServerSentEvents

/// Follows a gateway's `/events`, and resumes with its last id after a lost connection.
struct WatchConnection {
    /// A change of the connection.
    enum Notice {
        case event(ServerSentEvent)
        /// It was lost, or could not be opened; the next attempt follows after `retry`.
        case lost(reason: String, retry: Duration)
    }

    /// The gateway refuses the request permanently.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    private struct Problem: Decodable {
        struct Mistake: Decodable {
            var stream: String
            var detail: String
        }

        var detail: String?
        var mistakes: [Mistake]?

        /// The refusal, with a description of each invalid name.
        var words: String? {
            guard let mistakes, !mistakes.isEmpty else { return detail }
            return mistakes.map { "\($0.stream): \($0.detail)" }.joined(separator: "\n")
        }
    }

    let url: String
    /// A key or token; nil if none is needed.
    var key: String?
    let names: [String]
    /// The longest silence before a reconnect; the gateway sends a comment every 15 s.
    var silence: TimeAmount = .seconds(40)

    /// Runs until it is cancelled or refused.
    func run(_ notice: (Notice) async throws -> Void) async throws {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .follow(max: 3, allowCycles: false))
        configuration.timeout.connect = .seconds(10)
        configuration.timeout.read = silence
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            try await follow(client, notice)
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func follow(_ client: HTTPClient, _ notice: (Notice) async throws -> Void) async throws {
        var parser = ServerSentEventParser()
        while true {
            let reason: String
            do {
                reason = try await read(client, &parser, notice)
            } catch let error where !(error is CancellationError) && !(error is Refusal) && !(error is Terminal.Closed) {
                guard !isMistrust(error) else {
                    throw Refusal(description: "\(url): \(plainWords(error)). Add its authority to those that the system trusts, or use http.")
                }
                reason = plainly(error)
            }
            // With jitter, so that clients do not all reconnect at the same moment.
            let retry = Duration.milliseconds(Int.random(in: 750...1250) * min(max(parser.retryMs ?? 2000, 100), 60_000) / 1000)
            try await notice(.lost(reason: reason, retry: retry))
            try await Task.sleep(for: retry)
            parser.restart()
        }
    }

    private func plainly(_ error: any Error) -> String {
        switch error {
        case let error as HTTPClientError where error == .readTimeout: "no data for \(silence.nanoseconds / 1_000_000_000) s"
        case let error as HTTPClientError where error == .connectTimeout: "\(url) does not answer"
        case let error as HTTPClientError where error == .remoteConnectionClosed: "the gateway reset the connection"
        default: "\(url): \(plainWords(error))"
        }
    }

    /// Reads one connection until it ends, and returns the reason.
    private func read(_ client: HTTPClient, _ parser: inout ServerSentEventParser, _ notice: (Notice) async throws -> Void) async throws -> String {
        var request = HTTPClientRequest(url: "\(url)/events?streams=\(names.map(\.percentEncoded).joined(separator: ","))")
        request.headers.add(name: "Accept", value: "text/event-stream")
        if let key { request.headers.add(name: "Authorization", value: "Bearer \(key)") }
        if !parser.lastEventID.isEmpty { request.headers.add(name: "Last-Event-ID", value: parser.lastEventID) }
        let response = try await client.execute(request, deadline: .distantFuture)
        let status = Int(response.status.code)
        guard status == 200 else {
            let body = try await response.body.collect(upTo: 1 << 16)
            let detail = try? JSONDecoder().decode(Problem.self, from: Data(body.readableBytesView)).words
            guard status >= 500 || status == 429 else { throw Refusal(description: detail ?? "The gateway answered \(response.status).") }
            return "the gateway answered \(response.status)"
        }
        guard response.headers.first(name: "Content-Type")?.hasPrefix("text/event-stream") == true else {
            throw Refusal(description: "\(url) is not a gateway: /events is not an event stream.")
        }
        for try await bytes in response.body {
            for event in try parser.read(bytes.readableBytesView) { try await notice(.event(event)) }
        }
        return "the gateway ended the connection"
    }
}
