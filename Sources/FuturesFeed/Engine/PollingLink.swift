import FeedCore
import FeedDialects
import NIOCore

/// The calls of a connection that the core's effects need. Use it on the engine's loop.
protocol UpstreamLink: AnyObject {
    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64)
    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64)
    func ping()
    func close(code: UInt16, reason: String)
}

extension FrameReceiver: UpstreamLink {}

/// Replaces a connection for streams that the venue offers only over REST. Each stream is polled, and its answers are treated as messages. The core
/// decides when a request is sent, as for every relayed request.
final class PollingLink: UpstreamLink {
    private struct Polled {
        let poll: Poll
        /// The next poll.
        var next: Scheduled<Void>?
        /// The last answers of the parts, and until when each is valid.
        var parts: [(body: [UInt8], until: Instant)?]
        var isAsking = false
    }

    private let engine: FeedEngine
    private let id: ConnectionID
    private let rest: any UpstreamREST
    private var polled: [FuturesServiceStreamName: Polled] = [:]

    init(engine: FeedEngine, id: ConnectionID, rest: any UpstreamREST) {
        self.engine = engine
        self.id = id
        self.rest = rest
    }

    /// Checks whether the venue's REST interface answers. Until then the link does not count as connected.
    ///
    /// - Parameter done: Called once, with the error, or nil on success.
    func open(_ done: @escaping (FeedError?) -> Void) {
        engine.relay(rest.probe, newestOf: nil, maxAge: nil) { result in
            switch result {
            case .success(let answer) where answer.status == 200: done(nil)
            case .success(let answer): done(FeedError(.venueRejected, "The venue answered with HTTP status \(answer.status)."))
            case .failure(let error): done(error)
            }
        }
    }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        for name in names where polled[name] == nil {
            guard let poll = rest.poll(of: name) else { continue }
            polled[name] = Polled(poll: poll, parts: poll.parts.map { _ in nil })
            schedule(name, in: .zero)
        }
        tell { $0.engine.step(.received($0.id, .acknowledged(request: request))) }
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        for name in names { polled.removeValue(forKey: name)?.next?.cancel() }
        tell { $0.engine.step(.received($0.id, .acknowledged(request: request))) }
    }

    func ping() { tell { $0.engine.step(.heard($0.id)) } }

    func close(code: UInt16, reason: String) {
        for stream in polled.values { stream.next?.cancel() }
        polled = [:]
    }

    /// Runs the step later, because the core must not be stepped while it carries out effects.
    private func tell(_ step: @escaping (PollingLink) -> Void) {
        engine.loop.assumeIsolated().execute { step(self) }
    }

    private func schedule(_ name: FuturesServiceStreamName, in delay: Duration) {
        polled[name]?.next = engine.loop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) { self.ask(name) }
    }

    private func ask(_ name: FuturesServiceStreamName) {
        guard let stream = polled[name] else { return }
        schedule(name, in: stream.poll.interval)
        guard !stream.isAsking else { return }
        polled[name]?.isAsking = true
        let now = Instant.current
        var left = 1
        var failure: FeedError?
        func finish() {
            left -= 1
            if left == 0 { self.tell(name, failure) }
        }
        for (place, part) in stream.poll.parts.enumerated() where stream.parts[place].map({ $0.until <= now }) ?? true {
            left += 1
            engine.relay(part, newestOf: nil, maxAge: nil) { result in
                switch result {
                case .success(let answer) where answer.status == 200:
                    self.polled[name]?.parts[place] = (
                        answer.body, Instant.current + answer.lifetime(of: part, at: self.engine.venueTime(of: part.upstream))
                    )
                case .success(let answer):
                    failure = FeedError(.venueRejected, "The venue refused the request for \(name) with HTTP status \(answer.status).")
                case .failure(let error): failure = error
                }
                finish()
            }
        }
        finish()
    }

    private func tell(_ name: FuturesServiceStreamName, _ failure: FeedError?) {
        polled[name]?.isAsking = false
        guard let stream = polled[name] else { return }
        if let failure { return engine.step(.received(id, .reported(name, failure))) }
        switch rest.content(of: name, stream.parts.map { $0?.body ?? [] }, now: engine.venueTime(of: rest.upstream) ?? .min) {
        case .success(let content): engine.step(.received(id, .rows(name, content.rows, eventTime: content.eventTime)))
        case .failure(let error): engine.step(.received(id, .malformed(name, error.message)))
        }
    }
}
