package import FeedCore
import FeedDialects
import Rings

/// The kinds of frames that are measured.
package enum FrameKind: String, CaseIterable, Sendable {
    case markPrice, bookTicker, depth, markPrices

    package var title: String {
        switch self {
        case .markPrice: "mark price"
        case .bookTicker: "book ticker"
        case .depth: "diff depth, \(FrameText.changes) levels a side"
        case .markPrices: "!markPrice@arr, 300 rows"
        }
    }
}

/// The steps between a frame and a reader's ring.
package enum Stage: String, CaseIterable, Sendable { case decode, merge, encode, whole }

/// Frames of some streams in their order, and the core at the moment before the first.
///
/// Every round begins from the same state, because the core is a value. What a stage needs from the one before is prepared.
package struct Workload {
    package let frames: [[UInt8]]
    package let start: Ingest
    package let streamNames: [FuturesServiceStreamName]
    private let links: [Ingest.Link]
    private let events: [UpstreamEvent]
    private let effects: [FeedEffect]
    private let target = Target()

    /// Where the events go, as large as the gateway's own; full after some frames, so that old events make room.
    private final class Target {
        @exclusivity(unchecked) var ring = Ring(floor: 0, maximumBytes: 256 << 10, maximumEvents: 1024, maximumAge: .max)
    }

    /// Frames of one kind of stream, each stream's in turn.
    package init(_ kind: FrameKind, streams: Int = 1, frames count: Int) {
        var text = FrameText(symbols: kind == .markPrices ? 300 : streams)
        let streams = kind == .markPrices ? 1 : streams
        let books = Dictionary(uniqueKeysWithValues: text.symbols.indices.map { (text.symbols[$0], kind == .depth ? text.book($0) : nil) })
        let first = (0..<streams).map { text.next(kind, $0) }
        self.init(text: text, first: first, books: books, frames: (0..<count).map { text.next(kind, $0 % streams) })
    }

    /// A busy market: of a thousand frames 600 are book tickers, 300 depth updates and 100 mark prices of 100 symbols. A symbol has one kind of frames,
    /// because the frames of a symbol move its prices and numbers, and a book would miss what other frames moved.
    package init(mixOf count: Int) {
        var text = FrameText(symbols: 100)
        let books = Dictionary(uniqueKeysWithValues: text.symbols.indices.map { (text.symbols[$0], Optional(text.book($0))) })
        let kinds: [FrameKind] = [.bookTicker, .depth, .bookTicker, .markPrice, .bookTicker, .depth, .bookTicker, .depth, .bookTicker, .bookTicker]
        let first = text.symbols.indices.map { text.next(kinds[$0 % kinds.count], $0) }
        let frames = (0..<count).map { text.next(kinds[$0 * 7919 % 100 % kinds.count], $0 * 7919 % 100) }
        self.init(text: text, first: first, books: books, frames: frames)
    }

    private init(text: FrameText, first: [[UInt8]], books: [String: DepthLevels?], frames: [[UInt8]]) {
        let dialect = FuturesDialect(venue: .aster)
        var names: [FuturesServiceStreamName] = []
        var contents: [FuturesServiceStreamName: FeedRows] = [:]
        for frame in first {
            frame.withUnsafeBufferPointer {
                dialect.decode($0, names: StreamNames()) { event in
                    guard case .rows(let name, let rows, _) = event else { return }
                    names.append(name)
                    contents[name] = books[name.symbol ?? ""].flatMap { $0 }.map { name.channel == .depth ? .depth([$0]) : rows } ?? rows
                }
            }
        }
        streamNames = names
        start = Ingest(names, first: first) { contents[$0] }
        self.frames = frames
        let start = start
        let events = frames.compactMap { start.decode($0) }
        links = events.compactMap { event in
            guard case .rows(let name, _, _) = event else { return nil }
            return start.connections[name].map(start.link)
        }
        var house = start
        var effects: [FeedEffect] = []
        for (event, link) in zip(events, links) { house.merge(event, on: link.id, &effects) }
        self.effects = effects
        self.events = events
    }

    /// A house of nothing but books, each updated some times.
    ///
    /// - Parameters:
    ///   - before: the market as complete data tells it.
    ///   - first: the first frame of each book after that.
    package static func books(_ before: FrameText, first: [[UInt8]], text: inout FrameText, updates: Int = 50) -> Ingest {
        let symbols = before.symbols
        let names = symbols.map { FuturesServiceStreamName.depth(symbol: $0, speed: .milliseconds100) }
        var house = Ingest(names, first: first) { name in
            symbols.firstIndex { $0 == name.symbol }.map { .depth([before.book($0)]) }
        }
        for _ in 0..<updates { for index in symbols.indices { _ = house.receive(text.depth(index)) { _ in } } }
        return house
    }

    /// Whether every frame was read, and became one event that is no trouble.
    package var isSound: Bool {
        links.count == frames.count && effects.count == frames.count
            && effects.allSatisfy { effect in
                guard case .publish(let event) = effect, case .updated = event.kind else { return false }
                return true
            }
    }

    /// The events that the frames become.
    package var published: [FeedEvent] {
        effects.compactMap { effect in
            guard case .publish(let event) = effect else { return nil }
            return event
        }
    }

    /// One pass over all frames; the number that comes back keeps the work from being left out.
    @inline(never)
    package func run(_ stage: Stage) -> Int {
        var made = 0
        switch stage {
        case .decode: for index in frames.indices where start.decode(frames[index], on: links[index].id) != nil { made += 1 }
        case .merge:
            var house = start
            var effects: [FeedEffect] = []
            for index in events.indices {
                house.merge(events[index], on: links[index].id, &effects)
                made += effects.count
                effects.removeAll(keepingCapacity: true)
            }
        case .encode: for effect in effects { made += Ingest.encode(effect) }
        case .whole:
            var house = start
            let (frames, links, target) = (frames, links, target)
            for index in frames.indices {
                _ = house.receive(frames[index], on: links[index]) { effect in
                    made += Ingest.encode(effect) { target.ring.append(sequence: $1, text: $0.text, idStart: $0.idStart, carriesData: true, now: 0) }
                }
            }
        }
        return made
    }
}

extension FrameText {
    fileprivate mutating func next(_ kind: FrameKind, _ index: Int) -> [UInt8] {
        switch kind {
        case .markPrice: markPrice(index)
        case .bookTicker: bookTicker(index)
        case .depth: depth(index)
        case .markPrices: markPrices()
        }
    }
}
