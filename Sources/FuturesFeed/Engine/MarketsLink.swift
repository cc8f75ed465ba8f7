import FeedCore
import FeedDialects
import NIOCore

/// Replaces a connection for the stream `!markets`: each second, the table of all contracts is made from streams of all venues, and treated as a
/// message. While the stream is subscribed, so are those streams.
///
/// A message makes the stream live. So the link sends the table only while a row is live, and once more when the last row stops being live, with
/// the states of the rows. The first table confirms the subscription.
final class MarketsLink: UpstreamLink {
    private let engine: FeedEngine
    private let id: ConnectionID
    private var name: FuturesServiceStreamName?
    private var observer: ObserverID?
    private var observed: [FuturesServiceStreamName] = []
    /// Whether the last table that was sent has a row that is live.
    private var wasLive = false
    private var next: Scheduled<Void>?

    init(engine: FeedEngine, id: ConnectionID) { (self.engine, self.id) = (engine, id) }

    func subscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        name = names.first ?? name
        if observer == nil { observer = engine.add(nil) }
        next?.cancel()
        next = after(.zero) { $0.tell() }
    }

    func unsubscribe(_ names: [FuturesServiceStreamName], request: UInt64) {
        name = nil
        next?.cancel()
        // A stream that has stalled is subscribed again in a moment. Its sources must not be dropped in between.
        next = after(Self.interval) { $0.stop() }
        confirm(request)
    }

    func ping() { _ = after(.zero) { $0.engine.step(.heard($0.id)) } }

    func close(code: UInt16, reason: String) { stop() }

    private func stop() {
        next?.cancel()
        if let observer { engine.remove(observer) }
        (name, observer, observed, next, wasLive) = (nil, nil, [], nil, false)
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
        for source in sources {
            // The streams of all contracts do not show a halt.
            let isHalted = listings[source.upstream]?.halted.isEmpty == false
            engine.refreshListing(of: source.upstream, age: isHalted ? Self.listingAge.halted : Self.listingAge.open)
        }
        // All values belong to the same moment.
        let values = engine.values(of: streams).values
        var isLive = false
        var writer = JSONWriter()
        writer.object { json in
            json.member("rows")
            json.array { json in
                var place = 0
                for source in sources {
                    let (upstream, own) = (source.upstream, values[place..<place + source.streams.count])
                    if source.write(.contracts(nil), listings[upstream], at: engine.venueTime(of: upstream), own, &json) { isLive = true }
                    place += source.streams.count
                }
            }
        }
        guard isLive || wasLive else { return }
        wasLive = isLive
        let text = String(decoding: writer.bytes, as: UTF8.self)
        engine.step(.received(id, .rows(name, .json([JSONRow(checked: text)]), eventTime: nil)))
    }
}
