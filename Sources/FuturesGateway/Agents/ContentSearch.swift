import FuturesFeed
import GatewayAccess
import MicroHTTP
import Rings

/// One question for a stream's content. It waits until the content is current enough or it is certain that there is none. Used on the feed's thread.
final class ContentSearch {
    enum Found: Sendable {
        case content(FuturesServiceFeedContent, StreamStatus, isSimulated: Bool)
        /// The stream is subscribed, and no event has happened yet.
        case quiet(FuturesServiceStreamName, StreamStatus?, isSimulated: Bool)
        /// There is content, but it is not as current as required.
        case old(StreamStatus, isSimulated: Bool, String)
        case failed(AgentTally.Outcome, code: String, String)
    }

    private let name: FuturesServiceStreamName
    private let question: ContentQuestion
    private let address: Address?
    private let end: ContinuousClock.Instant
    private var done: ((Found) -> Void)?
    /// The hub's number of the current wait.
    private var waiting: UInt64?

    init(_ name: FuturesServiceStreamName, _ question: ContentQuestion, from address: Address?, _ done: @escaping (Found) -> Void) {
        (self.name, self.question, self.address, self.done) = (name, question, address, done)
        end = .now + .seconds(question.wait)
    }

    /// Checks the content, and waits if that may help.
    func go(on hub: EventHub) {
        guard done != nil else { return }
        let left = end - .now
        guard let (content, status) = hub.content(of: name) else {
            guard !hub.isRetired(name) else { return finish(.failed(.refused, code: "settled", "The venue has settled the symbol of \(name).")) }
            return wait(on: hub, for: .value, left)
        }
        hub.renewLinger(of: name)
        // A stream that has just started is usually verified within a second.
        if status.state == .connecting, !question.allowsStale, left > .zero { return wait(on: hub, for: .change, left) }
        finish(judge(content, status, hub.isSimulated(name)))
    }

    private func wait(on hub: EventHub, for awaited: AwaitedEvent, _ patience: Duration) {
        waiting = hub.wait(for: name, awaited, timeout: max(patience, .zero), from: address) { [self] result in
            waiting = nil
            guard case .failure(let error) = result, hub.content(of: name) == nil else { return go(on: hub) }
            switch hub.absence(of: name, error) {
            case .quiet: finish(.quiet(name, hub.status(of: name)?.feed, isSimulated: hub.isSimulated(name)))
            case .failed(let error): finish(.failed(.unavailable, code: error.code.rawValue, error.message))
            }
        }
    }

    /// Ends the search because the caller has left.
    func abandon(on hub: EventHub) {
        finish(.failed(.unavailable, code: "abandoned", "The client no longer waits."))
        if let waiting { hub.abandon(name, waiting) }
    }

    private func judge(_ content: FuturesServiceFeedContent, _ status: StreamStatus, _ isSimulated: Bool) -> Found {
        if !question.allowsStale {
            if status.state != .live {
                return .old(
                    status, isSimulated: isSimulated,
                    "The value of \(name) is not verified as current: its state is \(status.state.rawValue), it is \(status.ageMs ?? 0) ms old and was last "
                        + "verified \(status.unverifiedMs ?? 0) ms ago. Try again later. get_status reports what went wrong; allowStale returns the value anyway."
                )
            }
            let bounds = FreshnessBounds(unverified: question.maxUnverified.map(String.init))
            if let problem = bounds.problem(of: status) { return .old(status, isSimulated: isSimulated, problem.detail ?? problem.title) }
        }
        return .content(content.cut(depth: question.depth, last: question.last), status, isSimulated: isSimulated)
    }

    private func finish(_ found: Found) {
        let done = done
        self.done = nil
        done?(found)
    }
}

extension FuturesServiceFeedContent {
    /// The content, reduced to a number of levels per side of a book, or of newest trades or bars.
    func cut(depth: Int?, last: Int?) -> Self {
        switch rows {
        case .depth(let books):
            guard let depth else { return self }
            return with(
                .depth(
                    books.map { book in
                        var book = book
                        book.bids = Array(book.bids.prefix(depth))
                        book.asks = Array(book.asks.prefix(depth))
                        return book
                    }))
        case .aggregateTrade(let rows): return last.map { with(.aggregateTrade(Array(rows.suffix($0)))) } ?? self
        case .trade(let rows): return last.map { with(.trade(Array(rows.suffix($0)))) } ?? self
        case .upstreamTrade(let rows): return last.map { with(.upstreamTrade(Array(rows.suffix($0)))) } ?? self
        case .upstreamBar(let rows): return last.map { with(.upstreamBar(Array(rows.suffix($0)))) } ?? self
        case .liquidation(let rows): return last.map { with(.liquidation(Array(rows.suffix($0)))) } ?? self
        case .kline(let rows): return last.map { with(.kline(Array(rows.suffix($0)))) } ?? self
        case .earlyBar(let rows): return last.map { with(.earlyBar(Array(rows.suffix($0)))) } ?? self
        case .bar(let rows): return last.map { with(.bar(Array(rows.suffix($0)))) } ?? self
        default: return self
        }
    }
}
