struct RESTReply: Equatable {
    var status = 200
    var body: String
    var contentType = "application/json"
    /// Request weight; nil if the reply has no used-weight header.
    var weight: Int?
    var headers: [String: String] = [:]

    static func failure(_ code: Int, _ message: String, status: Int = 400, weight: Int? = 1) -> RESTReply {
        RESTReply(status: status, body: #"{"code":\#(code),"msg":\#(JSONValue.quoted(message))}"#, weight: weight)
    }
}
