import CMicroHTTPD
import Synchronization

/// A prepared response to GET and HEAD: 200, or 304 if the client already has it. The server's own thread sends it, without a handler, until it
/// expires or is removed.
///
/// Under load many requests share one libmicrohttpd response. It is recreated each millisecond, because its ages increase.
public final class PreparedAnswer: Sendable {
    /// A libmicrohttpd response, kept while it is sent or may be sent again.
    private final class MHDResponse: @unchecked Sendable {
        let response: OpaquePointer
        init(_ response: OpaquePointer) { self.response = response }
        deinit { MHD_destroy_response(response) }
    }

    private struct Current {
        var elapsed: Int64 = -1
        var full: MHDResponse?
        var unchanged: MHDResponse?
    }

    let route: String
    private let content: SharedBytes
    private let entityTag: String
    private let headers: [HTTPHeader]
    private let contentHeaders: [HTTPHeader]
    private let countingHeaders: [(name: String, milliseconds: Int64)]
    private let readAt: UInt64
    private let until: UInt64
    private let current = Mutex(Current())

    /// - Parameters:
    ///   - content: The body.
    ///   - entityTag: The value of `ETag`, quotes included, for comparison with `If-None-Match` (RFC 9110 §13.1.2).
    ///   - headers: The fields of the 200 and the 304, including `ETag`.
    ///   - contentHeaders: Fields of only the 200, such as `Content-Type`.
    ///   - countingHeaders: Fields of both with a time in ms as decimal digits, which increases from its value at `instant`.
    ///   - instant: When these times were read, nanoseconds of the monotonic clock; nil for now.
    ///   - lifetime: The time from `instant` until it expires.
    ///   - route: The pattern of the GET route under which its requests are counted.
    public init(
        content: SharedBytes, entityTag: String, headers: [HTTPHeader], contentHeaders: [HTTPHeader],
        countingHeaders: [(name: String, milliseconds: Int64)], asOf instant: UInt64? = nil, lifetime: Duration, route: String
    ) {
        self.route = route
        self.content = content
        self.entityTag = entityTag
        self.headers = headers
        self.contentHeaders = contentHeaders
        self.countingHeaders = countingHeaders
        readAt = instant ?? monotonicNanoseconds()
        until = readAt &+ lifetime.nanoseconds
    }

    func isUsable(at now: UInt64) -> Bool { now < until }

    /// The size of its body in bytes.
    var size: Int { content.count }

    /// 200, or 304 if the client already has it.
    func status(_ noneMatch: String?) -> Int { noneMatch.map { $0.matches(entityTag: entityTag) } ?? false ? 304 : 200 }

    /// Passes the response to libmicrohttpd; nil if it could not be created.
    func queue(on connection: MHDConnection, noneMatch: String?, adding common: [HTTPHeader]) -> MHD_Result? {
        let isUnchanged = status(noneMatch) == 304
        let elapsed = elapsed(at: monotonicNanoseconds())
        let made: MHDResponse? = current.withLock { current in
            if current.elapsed != elapsed { current = Current(elapsed: elapsed) }
            if isUnchanged {
                current.unchanged = current.unchanged ?? make(elapsed, headers, common, isSentOften: false)
                return current.unchanged
            }
            current.full = current.full ?? make(elapsed, headers + contentHeaders, common, isSentOften: true)
            return current.full
        }
        // Another thread may release the response in the meantime.
        return made.map { made in withExtendedLifetime(made) { MHD_queue_response(connection.pointer, isUnchanged ? 304 : 200, made.response) } }
    }

    /// The time in ms that its ages have increased by. It is rounded up, so that a sent age is never below the true one.
    ///
    /// It ends with the lifetime, as the ages in the content do: a response that was found in time may be sent a moment later.
    func elapsed(at now: UInt64) -> Int64 {
        let (time, isEarlier) = min(now, until).subtractingReportingOverflow(readAt)
        return isEarlier ? 0 : Int64(clamping: (time &+ 999_999) / 1_000_000)
    }

    private func make(_ elapsed: Int64, _ headers: [HTTPHeader], _ common: [HTTPHeader], isSentOften: Bool) -> MHDResponse? {
        let counted = countingHeaders.map { HTTPHeader($0.name, String($0.milliseconds &+ elapsed)) }
        return HTTPResponse(status: 200, headers: headers + counted, content: content).made(adding: common, isSentOften: isSentOften).map(
            MHDResponse.init)
    }
}

/// The prepared responses of a server, by the request's target as sent, and by whether they are gzip. Call it from any thread.
public final class PreparedAnswers: Sendable {
    /// The requests that a response answers.
    public struct Key: Hashable, Sendable {
        fileprivate let target: [UInt8]
        fileprivate let isGzip: Bool

        /// Requests for this target that accept gzip, or do not.
        public init(target: String, isGzip: Bool) { self.init(target: Array(target.utf8), isGzip: isGzip) }

        fileprivate init(target: [UInt8], isGzip: Bool) {
            self.target = target
            self.isGzip = isGzip
        }

        /// The key of a request; nil if it cannot have a prepared response.
        init?(_ head: RequestHead, target: [UInt8]) {
            guard head.method == "GET" || head.method == "HEAD", head.version == "HTTP/1.1", head.headers.value(of: "Prefer") == nil,
                target.count <= PreparedAnswers.longestTarget
            else { return nil }
            self.init(target: target, isGzip: head.headers.acceptsGzip)
        }
    }

    private struct State {
        var answers: [Key: PreparedAnswer] = [:]
        var bytes = 0
        /// When expired responses are next removed, monotonic nanoseconds.
        var sweepAt: UInt64 = 0

        mutating func remove(_ key: Key) {
            if let answer = answers.removeValue(forKey: key) { bytes -= answer.size }
        }

        mutating func sweep(_ now: UInt64) {
            guard now >= sweepAt else { return }
            sweepAt = now &+ 1_000_000_000
            answers = answers.filter { $0.value.isUsable(at: now) }
            bytes = answers.values.reduce(0) { $0 + $1.size }
        }
    }

    private let maximumBytes: Int
    private let state = Mutex(State())

    /// Creates an empty collection.
    ///
    /// - Parameter maximumBytes: The limit for all bodies together.
    public init(maximumBytes: Int = .max) { self.maximumBytes = maximumBytes }

    /// The number of responses, and the bytes of their bodies.
    public var size: (count: Int, bytes: Int) { state.withLock { ($0.answers.count, $0.bytes) } }

    /// Stores a response for requests with this key. If there are 4,096 responses or `maximumBytes`, or the target is longer than 512 bytes, it is
    /// not stored.
    public func put(_ answer: PreparedAnswer, for key: Key) {
        guard key.target.count <= Self.longestTarget else { return }
        state.withLock { state in
            state.remove(key)
            state.sweep(monotonicNanoseconds())
            guard state.answers.count < Self.maximum, answer.size <= maximumBytes - state.bytes else { return }
            state.answers[key] = answer
            state.bytes += answer.size
        }
    }

    /// Removes the responses with these keys.
    public func remove(_ keys: [Key]) {
        state.withLock { state in
            for key in keys { state.remove(key) }
        }
    }

    func answer(for key: Key) -> PreparedAnswer? {
        let found = state.withLock { $0.answers[key] }
        return found?.isUsable(at: monotonicNanoseconds()) == true ? found : nil
    }
}

extension String {
    /// Whether the value of `If-None-Match` contains a tag, weak or not: weak comparison, a list, or `*` (RFC 9110 §13.1.2).
    public func matches(entityTag: String) -> Bool {
        if self == entityTag || self == "*" { return true }
        let opaque = entityTag.hasPrefix("W/") ? entityTag.dropFirst(2) : entityTag[...]
        return split(separator: ",").contains { item in
            let candidate = item.drop { $0 == " " || $0 == "\t" }
            let blanks = candidate.reversed().prefix { $0 == " " || $0 == "\t" }.count
            let tag = candidate.dropLast(blanks)
            return tag == "*" || (tag.hasPrefix("W/") ? tag.dropFirst(2) : tag) == opaque
        }
    }
}
