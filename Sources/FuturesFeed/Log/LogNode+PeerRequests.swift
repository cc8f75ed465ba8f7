import FeedCore
import NIOConcurrencyHelpers
import NIOCore
import ReplicatedLog
package import Replication

/// A node's questions and the answers it still keeps; used on its loop.
struct PeerRequests {
    /// A question without a complete answer.
    struct PendingQuestion {
        let subject: String
        let body: [UInt8]
        let until: Instant
        /// How long to wait for an answer before asking again; nil to ask only once.
        let attempt: Duration?
        /// The parts of the answer received so far.
        var parts: [UInt8] = []
        let answer: (Result<[UInt8], LogError>) -> Void
    }

    var asked: [UInt64: PendingQuestion] = [:]
    var last: UInt64 = 0
    /// Answers too large for one message, kept while their rest may be requested.
    var rests: [String: (bytes: [UInt8], until: Instant)] = [:]
    /// Answers other nodes' questions.
    var answering: (@Sendable ([UInt8], @escaping @Sendable ([UInt8]) -> Void) -> Void)?
}

extension LogNode {
    /// Asks the node that writes the log. If no node does, or none answers, it asks again, but no longer than `patience`. A request may therefore be
    /// carried out twice.
    func askIngest(
        _ request: NodeRequest, within patience: Duration, each attempt: Duration,
        _ answer: @escaping (Result<RelayedAnswer, FeedError>) -> Void
    ) {
        let until = Instant.current + patience
        send(
            PeerRequests.PendingQuestion(subject: configuration.ingestSubject, body: request.bytes, until: until, attempt: attempt) { result in
                guard case .success(let bytes) = result, let told = IngestAnswer(bytes) else {
                    let words = "No gateway feeds the log now, so the venue cannot be reached; try again in a moment."
                    return answer(.failure(FeedError(.unreachable, words, retryAfterMs: 1_000)))
                }
                self.await(told.head) { answer(told.result) }
            })
    }

    /// Asks the node that writes the log once. Calls `answer` with the number of its newest event, or nil if it did not answer.
    func askIngestOnce(_ request: NodeRequest, within patience: Duration, _ answer: @escaping (UInt64?) -> Void) {
        send(
            PeerRequests.PendingQuestion(
                subject: configuration.ingestSubject, body: request.bytes, until: Instant.current + patience, attempt: nil
            ) { answer((try? $0.get()).flatMap { IngestAnswer($0)?.head }) })
    }

    private func send(_ asked: PeerRequests.PendingQuestion) {
        guard let log = state.value.log else { return asked.answer(.failure(LogError(.unavailable, "This node is stopping."))) }
        state.value.peerRequests.last += 1
        let id = state.value.peerRequests.last
        state.value.peerRequests.asked[id] = asked
        let left = Duration.nanoseconds(max(1, asked.until.nanoseconds - Instant.current.nanoseconds))
        log.perform(.request(id: id, subject: asked.subject, asked.body, within: min(left, asked.attempt ?? left)))
    }

    func answered(_ id: UInt64, _ result: Result<[UInt8], LogError>) {
        guard var asked = state.value.peerRequests.asked.removeValue(forKey: id) else { return }
        switch result {
        case .failure(let error):
            guard asked.attempt != nil, Instant.current + PeerRequests.retry < asked.until,
                error.code == .unavailable || error.code == .unknown
            else {
                return asked.answer(.failure(error))
            }
            loop.assumeIsolated().scheduleTask(in: TimeAmount(PeerRequests.retry)) { self.send(asked) }
        case .success(let bytes):
            guard let part = AnswerPart(bytes) else {
                return asked.answer(.failure(LogError(.refused, "The answer cannot be read: run the same version on all nodes.")))
            }
            asked.parts += part.body
            guard part.number + 1 < part.count else { return asked.answer(.success(asked.parts)) }
            let rest = NodeRequest.rest(token: part.token, part: part.number + 1)
            send(
                PeerRequests.PendingQuestion(
                    subject: configuration.subject(ofNode: part.node), body: rest.bytes, until: asked.until, attempt: nil, parts: asked.parts,
                    answer: asked.answer))
        }
    }

    func respond(_ bytes: [UInt8], to reply: LogReply) {
        let parts = max(1, (bytes.count + PeerRequests.partBytes - 1) / PeerRequests.partBytes)
        let token = String(UInt64.random(in: .min ... .max), radix: 36)
        if parts > 1 {
            let now = Instant.current
            state.value.peerRequests.rests = state.value.peerRequests.rests.filter { $0.value.until > now }
            state.value.peerRequests.rests[token] = (bytes, now + PeerRequests.restPatience)
        }
        respond(bytes, token, part: 0, of: parts, to: reply)
    }

    private func respond(_ bytes: [UInt8], _ token: String, part: Int, of parts: Int, to reply: LogReply) {
        let start = part * PeerRequests.partBytes
        let body = bytes[start..<min(bytes.count, start + PeerRequests.partBytes)]
        state.value.log?.perform(.respond(reply, AnswerPart(node: name, token: token, number: part, count: parts, body: body).bytes))
    }

    func hear(_ subject: String, _ body: [UInt8], _ reply: LogReply?) {
        guard let request = NodeRequest(body) else { return }
        if subject == configuration.ingestSubject {
            state.value.role.answering?.hear(request, reply)
        } else if let reply {
            switch request {
            case .rest(let token, let part):
                guard let rest = state.value.peerRequests.rests[token] else { return }
                let parts = (rest.bytes.count + PeerRequests.partBytes - 1) / PeerRequests.partBytes
                guard (0..<parts).contains(part) else { return }
                if part == parts - 1 { state.value.peerRequests.rests[token] = nil }
                respond(rest.bytes, token, part: part, of: parts, to: reply)
            case .question(let question):
                state.value.peerRequests.answering?(question) { answer in self.loop.execute { self.respond(answer, to: reply) } }
            case .demand, .refetch, .relay: break
            }
        }
    }
}

extension LogNode: FeedPeers {
    package func ask(_ node: String, _ question: [UInt8], _ answer: @escaping @Sendable ([UInt8]?) -> Void) {
        loop.execute {
            // A node that does not answer is gone, with its readers.
            self.send(
                PeerRequests.PendingQuestion(
                    subject: self.configuration.subject(ofNode: node), body: NodeRequest.question(question).bytes,
                    until: Instant.current + .seconds(2), attempt: nil
                ) { answer(try? $0.get()) })
        }
    }

    package func onQuestion(_ answer: @escaping @Sendable (_ question: [UInt8], _ reply: @escaping @Sendable ([UInt8]) -> Void) -> Void) {
        loop.execute { self.state.value.peerRequests.answering = answer }
    }

    package var reading: NodeReading {
        let shadow = shared.withLockedValue { $0.shadow }
        let shadowed = shadow?.read { core, _ in core.wholeStreams } ?? 0
        return shared.withLockedValue {
            NodeReading($0.mirror, feeds: $0.engine != nil, isConnected: $0.isConnected, shadowed: shadowed, $0.writer)
        }
    }
}

/// A node's metrics at one moment.
package struct NodeReading: Sendable {
    /// Whether this node writes the log.
    package let feeds: Bool
    /// Whether it is connected to the log's servers, whether it follows the log's newest records, and whether it reports an outage of the log.
    package let isConnected: Bool
    package let isFollowing: Bool
    package let isAway: Bool
    /// The age of the newest message when it arrived, ms.
    package let lagMs: Int64
    /// Time since the last message, ms; nil before the first one.
    package let silenceMs: Int64?
    /// The sequence of the newest event, and the number of the log's newest record.
    package let head: UInt64
    package let place: UInt64
    /// The writer's term.
    package let term: UInt64
    /// How many times another writer took over, the log was read again, and a record was void.
    package let takeovers: UInt64
    package let rereads: UInt64
    package let voids: UInt64
    /// How many times readers had to start over, by cause.
    package let resets: [FeedMirror.ResetCause: UInt64]
    /// On a hot standby: the number of streams that its shadow has complete.
    package let shadowed: Int
    /// On the writing node: batches appended, appends refused or lost, queued bytes, and nodes with demand.
    package let appended: UInt64
    package let refusals: UInt64
    package let backlog: Int
    package let nodes: Int
}

extension NodeReading {
    init(_ mirror: FeedMirror, feeds: Bool, isConnected: Bool, shadowed: Int, _ writer: LogNode.WriterCounts?) {
        let now = Instant.current
        self.init(
            feeds: feeds, isConnected: isConnected, isFollowing: mirror.isFollowing, isAway: mirror.isAway, lagMs: mirror.lagMs,
            silenceMs: mirror.heardAt.map { now.milliseconds(since: $0) }, head: mirror.epochs.head, place: mirror.place,
            term: mirror.epochs.current?.term ?? 0, takeovers: mirror.takeovers, rereads: mirror.rereads, voids: mirror.voids,
            resets: mirror.resetsByCause, shadowed: shadowed, appended: writer?.appended ?? 0, refusals: writer?.refusals ?? 0,
            backlog: writer?.backlog ?? 0,
            nodes: writer?.nodes ?? 0)
    }
}
