import AsyncHTTPClient
package import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOSSL

/// A response with any status.
package struct RESTResponse: Sendable {
    package let status: Int
    package let headers: Headers
    /// The decompressed body.
    package let body: ByteBuffer

    /// The wait in `Retry-After` (RFC 9110 §10.2.3), at most 30 days.
    package var retryAfter: Duration? { parseRetryAfter(headers.first(name: "Retry-After"), date: headers.first(name: "Date")) }

    /// Response headers by name, case-insensitive.
    package struct Headers: Sendable {
        let fields: HTTPHeaders

        package func first(name: String) -> String? { fields.first(name: name) }
    }
}

/// Sends requests over pooled HTTP/1.1 connections. It follows no redirects, accepts gzip and deflate, and returns every status as a response.
package final class RESTClient: Sendable {
    private let proxies: ProxySettings
    /// One client per proxy, and one without.
    private let clients: [ProxySettings.Server?: HTTPClient]

    /// - Parameters:
    ///   - eventLoopGroup: Runs the connections; the loops given to `get` belong to it.
    ///   - trust: The certificate authorities for `https`.
    ///   - proxies: The proxies to ask for a tunnel, if any.
    /// - Throws: `TransportError` with code `tlsFailed` if `trust` cannot be read.
    package convenience init(eventLoopGroup: any EventLoopGroup, trust: TLSTrust, proxies: ProxySettings = .none) throws(TransportError) {
        self.init(eventLoopGroup: eventLoopGroup, proxies: proxies, tls: try trust.configuration())
    }

    /// Trusts the certificate authorities of the operating system.
    package convenience init(eventLoopGroup: any EventLoopGroup, proxies: ProxySettings = .none) {
        self.init(eventLoopGroup: eventLoopGroup, proxies: proxies, tls: nil)
    }

    private init(eventLoopGroup: any EventLoopGroup, proxies: ProxySettings, tls: TLSConfiguration?) {
        self.proxies = proxies
        let routes = [nil] + Array<ProxySettings.Server?>(proxies.servers)
        clients = Dictionary(
            uniqueKeysWithValues: routes.map { proxy in
                var configuration = Self.configuration(tls: tls)
                configuration.proxy = proxy.map { .server(host: $0.host, port: $0.port, authorization: $0.authorization) }
                return (proxy, HTTPClient(eventLoopGroupProvider: .shared(eventLoopGroup), configuration: configuration))
            })
    }

    private static func configuration(tls: TLSConfiguration?) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.decompression = .enabled(limit: .size(maximumBodyBytes))
        configuration.httpVersion = .http1Only
        // The caller retries a failed connection, with its own backoff and budget.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Performs one request.
    ///
    /// - Returns: A future on `loop`. It fails with `TransportError`: `invalidURL`, `invalidHeader`, `connectFailed`, `tlsFailed`, `timedOut`,
    ///   `bodyTooLarge`, `protocolViolation` or `closed`; with the status if one was received.
    package func get(_ request: RESTRequest, on loop: any EventLoop) -> EventLoopFuture<RESTResponse> {
        let (client, prepared): (HTTPClient, HTTPClient.Request)
        do {
            (client, prepared) = try route(request)
        } catch {
            return loop.makeFailedFuture(error)
        }
        let limit = min(max(request.maximumBodyBytes, 0), Self.maximumBodyBytes)
        let body = RESTBody(limit: limit)
        return client.execute(
            request: prepared,
            delegate: body,
            eventLoop: .delegateAndChannel(on: loop),
            deadline: .now() + TimeAmount(min(request.timeout, .seconds(3600)))
        )
        .futureResult
        .flatMapErrorThrowing { throw body.failure($0, url: request.url) }
        .hop(to: loop)
    }

    /// Starts a request whose response does not end. Call it on `loop`; the receiver is called there later, never during this call.
    ///
    /// The response head must arrive within the request's timeout. The body has no timeout and no length limit.
    package func stream(_ request: RESTRequest, on loop: any EventLoop, receiver: any HTTPStreamReceiver) -> HTTPStream {
        let stream = HTTPStream(url: request.url, loop: loop, receiver: receiver)
        do {
            var (client, prepared) = try route(request)
            // A server may hold back compressed data until it has enough of it.
            prepared.headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
            stream.begin(client, prepared, answerWithin: TimeAmount(min(request.timeout, .seconds(3600))))
        } catch {
            loop.execute { stream.refuse(error) }
        }
        return stream
    }

    /// The client for a request's proxy, and the request in the client's form.
    private func route(_ request: RESTRequest) throws(TransportError) -> (HTTPClient, HTTPClient.Request) {
        let prepared = try Self.prepare(request)
        let proxy = try proxies.server(for: prepared.host, port: prepared.port, isSecure: prepared.useTLS)
        guard let client = clients[proxy] else { throw TransportError(.closed, "This client does not know this proxy: create a new client.") }
        return (client, prepared)
    }

    private static func prepare(_ request: RESTRequest) throws(TransportError) -> HTTPClient.Request {
        try HTTPFields.check(request.headers)
        var headers = HTTPHeaders(request.headers)
        headers.replaceOrAdd(name: "Accept-Encoding", value: "gzip, deflate")
        if request.body != nil { headers.replaceOrAdd(name: "Content-Type", value: "application/json") }
        let target = TransportError.describe(request.url)
        let scheme = request.url.prefix { $0 != ":" }.lowercased()
        guard scheme == "http" || scheme == "https",
            let prepared = try? HTTPClient.Request(
                url: request.url, method: request.body == nil ? .GET : .POST, headers: headers, body: request.body.map { .string($0) })
        else {
            throw TransportError(.invalidURL, "Cannot open \(target): give an address that starts with http:// or https://.")
        }
        guard !TransportError.hasCredentials(request.url) else {
            throw TransportError(.invalidURL, "Cannot open \(target): send credentials in a header instead of the address.")
        }
        return prepared
    }

    /// Ends every connection. Running and later requests fail with `closed`.
    package func shutdown() async {
        for client in clients.values { try? await client.shutdown() }
    }
}
