package import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The few JetStream requests that a log needs. The stream's leader answers all of them, never a follower that may lag.
///
/// Source: the API's subjects and schemas (docs.nats.io/reference/reference-protocols/nats_api_reference).
package struct JetStream {
    package typealias Answer<Value> = (Result<Value, NATSError>) -> Void

    private let client: NATSClient
    private let timeout: TimeAmount

    /// - Parameter timeout: The timeout of each request.
    package init(_ client: NATSClient, timeout: TimeAmount = .seconds(2)) {
        self.client = client
        self.timeout = timeout
    }

    private func create(_ stream: StreamConfiguration, _ answer: @escaping Answer<JetStreamState>) {
        ask("STREAM.CREATE.\(stream.name)", stream) { (result: Result<StreamAnswer, NATSError>) in answer(result.map(\.state)) }
    }

    /// Creates a stream if there is none with this name. A server that has the stream may refuse to create it again, because it counts the space
    /// twice.
    package func provide(_ stream: StreamConfiguration, _ answer: @escaping Answer<JetStreamState>) {
        state(of: stream.name) { result in
            guard case .failure(let error) = result, error.code == .notFound else { return answer(result) }
            create(stream, answer)
        }
    }

    package func state(of stream: String, _ answer: @escaping Answer<JetStreamState>) {
        ask("STREAM.INFO.\(stream)", [String: String]()) { (result: Result<StreamAnswer, NATSError>) in answer(result.map(\.state)) }
    }

    /// The body of one message.
    package func message(of stream: String, _ sequence: UInt64, _ answer: @escaping Answer<[UInt8]>) {
        ask("STREAM.MSG.GET.\(stream)", ["seq": sequence]) { (result: Result<MessageAnswer, NATSError>) in
            answer(result.map { Array($0.message.data ?? Data()) })
        }
    }

    /// Appends a message directly after the stream's message `expecting`, 0 if there is none yet. Returns its sequence.
    package func append(_ payload: ByteBuffer, to subject: String, of stream: String, expecting: UInt64, _ answer: @escaping Answer<UInt64>) {
        let header = NATSPublication.Header(name: "Nats-Expected-Last-Sequence", value: String(expecting))
        client.request(NATSPublication(subject, headers: [header], payload: payload), timeout: timeout) { result in
            answer(
                result.flatMap { message in
                    if let sequence = Self.plainSequence(message.payload, of: stream) { return .success(sequence) }
                    return Self.decode(AppendAnswer.self, message).flatMap { answer in
                        guard answer.stream == stream else {
                            return .failure(NATSError(.jetStream, "The subject \(subject) belongs to another stream: give each log its own subject."))
                        }
                        return .success(answer.seq)
                    }
                })
        }
    }

    /// Delivers the messages from a sequence on to a subject, with flow control and heartbeats. The server removes the consumer 30 s after its
    /// subject has lost its last listener.
    func createConsumer(of stream: String, deliver subject: String, from sequence: UInt64, heartbeat: TimeAmount, _ answer: @escaping Answer<Void>) {
        let consumer = ConsumerConfiguration(deliver_subject: subject, opt_start_seq: sequence, idle_heartbeat: heartbeat.nanoseconds)
        ask("CONSUMER.CREATE.\(stream)", ConsumerRequest(stream_name: stream, config: consumer)) { (result: Result<ConsumerAnswer, NATSError>) in
            answer(result.map { _ in })
        }
    }

    private func ask<Value: Decodable>(_ path: String, _ body: some Encodable, _ answer: @escaping Answer<Value>) {
        guard let json = try? JSONEncoder().encode(body) else {
            return answer(.failure(NATSError(.badConfiguration, "A request to JetStream cannot be written: use plain names.")))
        }
        client.request(NATSPublication("$JS.API.\(path)", payload: ByteBuffer(bytes: json)), timeout: timeout) { result in
            answer(result.flatMap { Self.decode(Value.self, $0) })
        }
    }

    /// The sequence in the usual answer to an append, `{"stream":"S","seq":1}`; nil for any other.
    ///
    /// Foundation's decoder takes longer than the rest of an append.
    static func plainSequence(_ payload: ByteBuffer, of stream: String) -> UInt64? {
        var answer = payload.readableBytesView[...]
        guard answer.starts(with: #"{"stream":""#.utf8) else { return nil }
        answer = answer.dropFirst(#"{"stream":""#.utf8.count)
        guard answer.starts(with: stream.utf8) else { return nil }
        answer = answer.dropFirst(stream.utf8.count)
        guard answer.starts(with: #"","seq":"#.utf8) else { return nil }
        answer = answer.dropFirst(#"","seq":"#.utf8.count)
        let digits = answer.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard answer.dropFirst(digits.count).elementsEqual("}".utf8) else { return nil }
        return digits.decimal(below: JetStreamState.mostMessages).map(UInt64.init)
    }

    private static func decode<Value: Decodable>(_: Value.Type, _ message: NATSMessage) -> Result<Value, NATSError> {
        let json = Data(message.payload.readableBytesView)
        switch try? JSONDecoder().decode(Outcome<Value>.self, from: json) {
        case .value(let value): return .success(value)
        case .failure(let reason): return .failure(NATSError(reason))
        case nil: return .failure(NATSError(.malformedAnswer, "JetStream's answer cannot be read: check the server's version."))
        }
    }
}

/// The wanted configuration of a stream.
package struct StreamConfiguration: Sendable, Encodable {
    package var name: String
    package var subjects: [String]
    package var storage = "file"
    package var replicas: Int
    package var retention = "limits"
    package var discard = "old"
    /// Messages older than this, in ns, are removed; 0 keeps them.
    package var maximumAge: Int64
    /// The oldest messages beyond this size are removed; -1 for no limit.
    package var maximumBytes: Int64
    /// In ns. Messages have no ids, so this is the shortest that servers accept.
    package var duplicateWindow: Int64 = 100_000_000
    package var allowsDirect = true
    /// A gap in the log would be a loss for its readers.
    package var deniesDelete = true
    package var deniesPurge = true

    package init(name: String, subjects: [String], replicas: Int, maximumAge: Int64, maximumBytes: Int64) {
        (self.name, self.subjects, self.replicas) = (name, subjects, replicas)
        (self.maximumAge, self.maximumBytes) = (maximumAge, maximumBytes)
    }

    private enum CodingKeys: String, CodingKey {
        case name, subjects, storage, retention, discard
        case replicas = "num_replicas", maximumAge = "max_age", maximumBytes = "max_bytes", duplicateWindow = "duplicate_window"
        case allowsDirect = "allow_direct", deniesDelete = "deny_delete", deniesPurge = "deny_purge"
    }
}

/// The state of a stream.
package struct JetStreamState: Sendable, Equatable, Decodable {
    package var messages: UInt64
    package var bytes: UInt64
    package var first: UInt64
    package var last: UInt64

    private enum CodingKeys: String, CodingKey { case messages, bytes, first = "first_seq", last = "last_seq" }

    /// Sequences are below this, so that no addition overflows.
    static let mostMessages = 1 << 62
}

extension JetStreamState {
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            messages: try members.decode(UInt64.self, forKey: .messages), bytes: try members.decode(UInt64.self, forKey: .bytes),
            first: try members.sequence(.first), last: try members.sequence(.last))
    }
}

extension KeyedDecodingContainer {
    /// The sequence of a message.
    fileprivate func sequence(_ key: Key) throws -> UInt64 {
        let sequence = try decode(UInt64.self, forKey: key)
        guard sequence < JetStreamState.mostMessages else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "a sequence of \(sequence)")
        }
        return sequence
    }
}

private struct StreamAnswer: Decodable { let state: JetStreamState }

private struct MessageAnswer: Decodable {
    struct Message: Decodable {
        /// Absent if the message is empty.
        let data: Data?
    }
    let message: Message
}

private struct AppendAnswer: Decodable {
    let stream: String
    let seq: UInt64

    private enum CodingKeys: String, CodingKey { case stream, seq }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        (stream, seq) = (try members.decode(String.self, forKey: .stream), try members.sequence(.seq))
    }
}

private struct ConsumerAnswer: Decodable { let name: String }

private struct ConsumerRequest: Encodable {
    let stream_name: String
    let config: ConsumerConfiguration
}

private struct ConsumerConfiguration: Encodable {
    let deliver_subject: String
    var deliver_policy = "by_start_sequence"
    let opt_start_seq: UInt64
    var ack_policy = "none"
    var max_deliver = 1
    var flow_control = true
    let idle_heartbeat: Int64
    var mem_storage = true
    var num_replicas = 1
    var inactive_threshold: Int64 = 30_000_000_000
}

/// An answer of JetStream. An answer that refuses an append also has a stream and a sequence.
private enum Outcome<Value: Decodable>: Decodable {
    case value(Value)
    case failure(ServerRefusal)

    private enum CodingKeys: String, CodingKey { case error }

    init(from decoder: any Decoder) throws {
        let refusal = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(ServerRefusal.self, forKey: .error)
        self = try refusal.map { .failure($0) } ?? .value(Value(from: decoder))
    }
}

private struct ServerRefusal: Decodable {
    let code: Int
    let err_code: Int?
    let description: String?
}

extension NATSError {
    /// Converts the codes of nats-server's `errors.json`.
    fileprivate init(_ reason: ServerRefusal) {
        let words = reason.description ?? "no reason given"
        switch reason.err_code ?? reason.code {
        case 10071, 10164: self.init(.wrongSequence, "The log has a different end (\(words)): read it before the next append.")
        case 10023, 10028, 10047, 10077: self.init(.storeFull, "JetStream's storage is full (\(words)): raise its limits, or free disk.")
        case 10014, 10037, 10059: self.init(.notFound, "JetStream cannot find it (\(words)): check the name of the stream.")
        case 10008, 10009: self.init(.noResponders, "JetStream has no leader now (\(words)): check that a majority of the servers is running.")
        default: self.init(.jetStream, "JetStream refused the request: \(words).")
        }
        jetStreamCode = reason.err_code
    }
}
