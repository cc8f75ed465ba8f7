/// One request: GET, or POST if it has a body.
public struct RESTRequest: Sendable {
    /// `http://` or `https://`.
    public var url: String
    /// Additional headers. `Host` and `Accept-Encoding` are set by the client.
    public var headers: [(String, String)]
    /// The body, sent as a POST of `application/json`; nil for a GET.
    public var body: String?
    /// The time from the call to the last byte of the body; at most one hour.
    public var timeout: Duration = .seconds(10)
    /// The maximum size of the body after decompression, in bytes: 0 to 64 MiB.
    public var maximumBodyBytes = 8 << 20

    /// Creates a request.
    public init(
        url: String, headers: [(String, String)] = [], body: String? = nil, timeout: Duration = .seconds(10), maximumBodyBytes: Int = 8 << 20
    ) {
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumBodyBytes = maximumBodyBytes
    }
}

extension RESTRequest {
    /// The same request with another maximum body size.
    package func allowing(bodyBytes: Int) -> RESTRequest {
        var copy = self
        copy.maximumBodyBytes = bodyBytes
        return copy
    }
}
