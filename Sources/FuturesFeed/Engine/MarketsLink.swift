import FeedCore
import FeedDialects
import NIOCore

/// Replaces a connection for the stream `!markets`: each second, the table of all contracts is made from streams of all venues, and treated as a
/// message. While the stream is subscribed, so are those streams.
final class MarketsLink: UpstreamLink {
    private let engine: FeedEngine
    private let id: ConnectionID
    private var name: FuturesServiceStreamName?
    private var observer: ObserverID?
    private var observed: [FuturesServiceStreamName] = []
    private var next: Scheduled<Void>?

    init(engine: FeedEngine, id: ConnectionID) { (self.engine, self.id) = (engine, id) }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        name = names.first ?? name
        if observer == nil { observer = engine.add(nil) }
        next?.cancel()
        next = after(.zero) { $0.tell() }
        confirm(request)
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        stop()
        confirm(request)
    }

    func ping() { _ = after(.zero) { $0.engine.step(.heard($0.id)) } }

    func close(code: UInt16, reason: String) { stop() }

    private func stop() {
        next?.cancel()
        if let observer { engine.remove(observer) }
        (name, observer, observed, next) = (nil, nil, [], nil)
    }

    private func confirm(_ request: UInt64) { _ = after(.zero) { $0.engine.step(.received($0.id, .acknowledged(request: request))) } }

    /// Runs the step later, because the core must not be stepped while it carries out effects.
    private func after(_ delay: TimeAmount, _ step: @escaping (MarketsLink) -> Void) -> Scheduled<Void> {
        engine.loop.assumeIsolated().scheduleTask(in: delay) { step(self) }
    }

    private func tell() {
        guard let name, let observer else { return }
        next = after(Self.interval) { $0.tell() }
        let listings = engine.dialect.upstreams.indices.map { engine.listing(of: $0) }
        let sources = MarketSource.all(for: .contracts(nil), engine.dialect) { listings[$0] }
        let streams = sources.flatMap(\.streams)
        if streams != observed {
            engine.step(.observe(observer, streams, forceFetch: false))
            observed = streams
        }
        // All values belong to the same moment.
        let values = engine.values(of: streams).values
        var writer = JSONWriter()
        writer.object { json in
            json.member("rows")
            json.array { json in
                var place = 0
                for source in sources {
                    source.write(.contracts(nil), listings[source.upstream], values[place..<place + source.streams.count], &json)
                    place += source.streams.count
                }
            }
        }
        let text = String(decoding: writer.bytes, as: UTF8.self)
        engine.step(.received(id, .rows(name, .json([JSONRow(checked: text)]), eventTime: nil)))
    }
}
