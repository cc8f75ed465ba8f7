/// One request: GET, or POST if it has a body.
public struct RESTRequest: Sendable {
    /// `http://` or `https://`.
    public var url: String
    /// Additional headers. `Host` and `Accept-Encoding` are set by the client.
    public var headers: [(String, String)]
    /// Posted as `application/json` if it is set.
    public var body: String?
    /// From the call to the last byte of the body; at most an hour.
    public var timeout: Duration = .seconds(10)
    /// Largest body, counted after decompression, in bytes: 0 to 64 MiB.
    public var maximumBodyBytes = 8 << 20

    /// A request.
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
    /// The same request with another bound of the body.
    package func allowing(bodyBytes: Int) -> RESTRequest {
        var copy = self
        copy.maximumBodyBytes = bodyBytes
        return copy
    }
}
