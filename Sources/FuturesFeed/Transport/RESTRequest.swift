/// One request: GET, or POST where it has a body.
package struct RESTRequest: Sendable {
    /// `http://` or `https://`.
    package var url: String
    /// Additional headers. `Host` and `Accept-Encoding` are set by the client.
    package var headers: [(String, String)]
    /// Posted as `application/json` where there is one.
    package var body: String?
    /// From the call to the last byte of the body; at most an hour.
    package var timeout: Duration = .seconds(10)
    /// Largest body, counted after decompression, in bytes: 0 to `RESTClient.maximumBodyBytes`.
    package var maximumBodyBytes = 8 << 20

    package init(
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
    /// The same with another bound of the body.
    func allowing(bodyBytes: Int) -> RESTRequest {
        var copy = self
        copy.maximumBodyBytes = bodyBytes
        return copy
    }
}
