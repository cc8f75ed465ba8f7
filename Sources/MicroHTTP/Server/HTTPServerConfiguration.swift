/// Where an ``HTTPServer`` listens, and its limits. Every default suits a loopback service.
public struct HTTPServerConfiguration: Sendable {
    /// Address to bind: an IPv4 or IPv6 literal, or `localhost` (which means 127.0.0.1).
    public var host: String
    /// Port to bind; 0 uses any free one, which ``HTTPServer/start()`` returns.
    public var port: UInt16
    /// A socket that already listens on this host and port, shared with the process that passed it. The server takes it over; when the server stops,
    /// the socket still queues connections. With `nil` the server creates its own.
    public var inheritedSocket: Int32?
    /// Names accepted in `Host` besides the loopback names and the bind address, without port, in any case.
    /// Others get 421 (DNS rebinding). `nil` accepts every host.
    public var allowedHosts: Set<String>?
    /// The certificate for TLS; `nil` serves without TLS.
    public var identity: TLSIdentity?
    /// The maximum number of simultaneous connections. Further ones get the server's `overloaded` response and are closed. At most the process's
    /// limit of descriptors minus 128, or minus a quarter.
    public var maximumConnections: Int
    /// Threads that parse requests and run handlers, 1...64.
    public var workerThreads: Int
    /// Time for a complete request head, counted from the connection's start, or from its request line on a kept connection.
    public var headerDeadline: Duration
    /// Time for a complete request body, counted from the end of the head.
    public var bodyDeadline: Duration
    /// How long a connection may wait for the next request line. Also how long a client may stall while it reads a response (whole seconds, at least
    /// 2).
    public var keepAliveIdle: Duration
    /// The maximum size of a request body in bytes; a larger one is answered with 413.
    public var maximumBodyBytes: Int
    /// Origins, such as `https://example.org`, whose pages may read the responses with credentials (Fetch §3.2.5); all responses then vary by
    /// `Origin`. With `nil` only ``commonHeaders`` apply.
    public var allowedOrigins: Set<String>?
    /// Fields of every response of this module or its handlers, including errors and streams.
    public var commonHeaders: [HTTPHeader]
    /// Fields added to the responses to `OPTIONS`, for CORS preflights.
    public var preflightHeaders: [HTTPHeader]

    /// Creates a configuration; see the properties for units and bounds.
    public init(
        host: String = "127.0.0.1",
        port: UInt16 = 0,
        inheritedSocket: Int32? = nil,
        allowedHosts: Set<String>? = nil,
        identity: TLSIdentity? = nil,
        maximumConnections: Int = 50_000,
        workerThreads: Int = 2,
        headerDeadline: Duration = .seconds(5),
        bodyDeadline: Duration = .seconds(10),
        keepAliveIdle: Duration = .seconds(30),
        maximumBodyBytes: Int = 4096,
        allowedOrigins: Set<String>? = nil,
        commonHeaders: [HTTPHeader] = [],
        preflightHeaders: [HTTPHeader] = []
    ) {
        self.host = host
        self.port = port
        self.inheritedSocket = inheritedSocket
        self.allowedHosts = allowedHosts
        self.identity = identity
        self.maximumConnections = maximumConnections
        self.workerThreads = workerThreads
        self.headerDeadline = headerDeadline
        self.bodyDeadline = bodyDeadline
        self.keepAliveIdle = keepAliveIdle
        self.maximumBodyBytes = maximumBodyBytes
        self.allowedOrigins = allowedOrigins
        self.commonHeaders = commonHeaders
        self.preflightHeaders = preflightHeaders
    }
}

/// One header field.
public struct HTTPHeader: Sendable, Hashable {
    /// Field name, an RFC 9110 token.
    public var name: String
    /// Field value, not empty, without line ends.
    public var value: String

    /// Creates a field from its name and value.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Creates a field from its name and value.
    public init(_ name: String, _ value: String) {
        self.init(name: name, value: value)
    }
}
