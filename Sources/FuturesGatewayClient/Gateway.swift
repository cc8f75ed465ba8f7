import FeedDialects
public import FeedObserving
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A gateway's address and the caller's credential.
public struct Gateway: Sendable {
    /// The gateway's URL, such as `https://prices.example.org`.
    public let url: String
    private let credential: @Sendable () async throws -> String?

    /// A gateway that is used with a key or token, or with none.
    public init(_ url: String, credential: String? = nil) { self.init(url) { credential } }

    /// A gateway that is used with the result of `credential`, which is called for each request, so that tokens can be renewed.
    public init(_ url: String, credential: @escaping @Sendable () async throws -> String?) {
        (self.url, self.credential) = (url.hasSuffix("/") ? String(url.dropLast()) : url, credential)
    }

    /// The gateway with the URL in the environment variable `FUTURES_GATEWAY_URL`, by default `http://127.0.0.1:8080`, and the credential in
    /// `FUTURES_GATEWAY_KEY`.
    public static var ofEnvironment: Gateway {
        let environment = ProcessInfo.processInfo.environment
        return Gateway(environment["FUTURES_GATEWAY_URL"] ?? "http://127.0.0.1:8080", credential: environment["FUTURES_GATEWAY_KEY"])
    }

    /// A stream's snapshot from `GET /streams/NAME`.
    ///
    /// - Parameters:
    ///   - stream: The stream, with the type of its rows.
    ///   - depth: The maximum number of levels per side of an order book: 5, 10, 20, 50, 100, 500 or 1000; nil for all.
    ///   - maxAge: Throws if the content is older; nil for any age.
    ///   - maxUnverified: Throws if the content has been unverified for longer; nil for any time.
    /// - Throws: `FeedError`; its `isTransient` says whether a retry can help.
    public func snapshot<Row>(
        of stream: FeedStream<Row>, depth: Int? = nil, maxAge: Duration? = nil, maxUnverified: Duration? = nil
    ) async throws(FeedError) -> StreamEvent<Row> {
        let wishes = [("depth", depth.map(Int64.init)), ("maxAge", maxAge?.milliseconds), ("maxUnverified", maxUnverified?.milliseconds)]
        let query = wishes.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: "&")
        let path = "/streams/\(stream.name.description.percentEncoded)" + (query.isEmpty ? "" : "?" + query)
        do throws(GatewayFailure) {
            let answer = try await ask("GET", path)
            guard !answer.isEmpty else {
                throw GatewayFailure(status: 204, detail: "\(stream.name) has no content yet; observe it and wait.", isTransient: true)
            }
            guard let content = ContentReader.content(answer, of: stream.name) else { throw .notAGateway(url) }
            return StreamEvent(content, of: stream)
        } catch { throw error.feedError }
    }

    /// A ticket that opens one connection to `/events` within a minute, for a page that must not see the credential.
    ///
    /// - Throws: `FeedError`.
    public func ticket() async throws(FeedError) -> String {
        do throws(GatewayFailure) {
            let answer = try await ask("POST", "/tickets")
            guard let ticket = RowFields.read(answer[...], { (fields) throws(RowFields.Failure) in try fields.string("ticket") }) else {
                throw .notAGateway(url)
            }
            return ticket
        } catch { throw error.feedError }
    }

    /// The body of a successful response.
    ///
    /// - Parameter connects: Whether to open a new connection. An idle one may have died unnoticed, such as while the app was suspended.
    func ask(_ method: String, _ path: String, _ fields: [String: String] = [:], connects: Bool = false) async throws(GatewayFailure) -> [UInt8] {
        let request = try await request(method, path, accept: "application/json", fields)
        let session = connects ? URLSession(configuration: .ephemeral) : Self.session
        defer { if connects { session.finishTasksAndInvalidate() } }
        let (body, response): (Data, URLResponse)
        do { (body, response) = try await session.data(for: request) } catch { throw .unreachable(url, error) }
        guard let response = response as? HTTPURLResponse else { throw .notAGateway(url) }
        guard (200..<300).contains(response.statusCode) else { throw GatewayFailure(response, Array(body), from: url) }
        return Array(body)
    }

    func request(_ method: String, _ path: String, accept: String, _ fields: [String: String]) async throws(GatewayFailure) -> URLRequest {
        guard let address = URL(string: url + path), let scheme = address.scheme, ["http", "https"].contains(scheme), address.host != nil else {
            throw GatewayFailure(detail: "\(url) is not a gateway's address; give one such as http://127.0.0.1:8080.")
        }
        var request = URLRequest(url: address, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 60)
        request.httpMethod = method
        request.setValue(accept, forHTTPHeaderField: "Accept")
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        let key: String?
        do { key = try await credential() } catch { throw GatewayFailure(detail: "No credential is available: \(error).", isTransient: true) }
        if let key { request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
        return request
    }

    private static let session = URLSession(configuration: .ephemeral)
}

extension Duration {
    var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
