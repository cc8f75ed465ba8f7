@testable import FeedCore

/// The last things that happened, for people; everything where all of it is wanted.
struct Trace {
    let isWhole: Bool
    private var lines: [String] = []
    static let length = 40

    init(isWhole: Bool) { self.isWhole = isWhole }

    var all: String { lines.joined(separator: "\n") }

    mutating func note(_ queue: EventQueue, _ input: FeedInput) { note(queue, "→ " + Self.words(input)) }

    mutating func note(_ queue: EventQueue, _ effect: FeedEffect) { note(queue, "   ← " + Self.words(effect)) }

    private mutating func note(_ queue: EventQueue, _ words: String) {
        let milliseconds = String(queue.now / 1_000)
        lines.append(String(repeating: " ", count: max(0, 10 - milliseconds.count)) + milliseconds + " µs " + String(words.prefix(400)))
        if !isWhole, lines.count > 40 * Self.length { lines.removeFirst(30 * Self.length) }
    }

    /// The last of them, those about one stream where a word is given.
    func last(_ count: Int = Trace.length, about word: String? = nil) -> String {
        lines.filter { line in word.map { line.contains($0) } ?? true }.suffix(count).joined(separator: "\n")
    }

    private static func words(_ input: FeedInput) -> String {
        switch input {
        case .observe(let id, let names, let force): "observe \(id.value) \(names) \(force ? "fetching" : "")"
        case .unobserve(let id, let names): "unobserve \(id.value) \(names.map { "\($0)" } ?? "all")"
        case .pause(let id, let names): "pause \(id.value) \(names.map { "\($0)" } ?? "all")"
        case .resume(let id, let names): "resume \(id.value) \(names.map { "\($0)" } ?? "all")"
        case .refetch(let name): "refetch \(name)"
        case .opened(let id): "opened \(id.value)"
        case .closed(let id, let reason, _): "closed \(id.value) \(reason)"
        case .heard(let id): "heard \(id.value)"
        case .received(let id, let event): "received \(id.value) \(words(event))"
        case .fetched(let name, let attempt, .success(let content)): "fetched \(name) #\(attempt) \(words(content.rows))"
        case .fetched(let name, let attempt, .failure(let error)): "fetched \(name) #\(attempt) \(error)"
        case .deadline: "deadline"
        default: "\(input)"
        }
    }

    private static func words(_ event: UpstreamEvent) -> String {
        if case .rows(let name, let rows, _) = event { "\(name) \(words(rows))" } else { "\(event)" }
    }

    static func words(_ rows: FeedRows) -> String {
        if case .depth(let levels) = rows, let levels = levels.first {
            func side(_ side: [PriceLevel]) -> String { side.prefix(4).map { "\($0.price)x\($0.quantity)" }.joined(separator: " ") }
            let top = "\(side(levels.bids)) (\(levels.bids.count)) / \(side(levels.asks)) (\(levels.asks.count))"
            return
                "\(levels.firstUpdateID.map { "\($0)…" } ?? "")\(levels.lastUpdateID) after \(levels.previousUpdateID.map { "\($0)" } ?? "-") \(top)"
        }
        if let ids = rows.ids { return "\(ids.lowerBound)…\(ids.upperBound)" }
        return "\(rows.count) rows"
    }

    private static func words(_ effect: FeedEffect) -> String {
        switch effect {
        case .publish(let event): "publish \(words(event))"
        case .tell(let id, let event): "tell \(id.value) \(words(event))"
        case .connect(let id, let endpoint, let host, _): "connect \(id.value) path \(endpoint) host \(host)"
        case .subscribe(let id, let names, let request): "subscribe \(id.value) \(names) #\(request)"
        case .unsubscribe(let id, let names, let request): "unsubscribe \(id.value) \(names) #\(request)"
        case .ping(let id): "ping \(id.value)"
        case .disconnect(let id): "disconnect \(id.value)"
        case .fetch(let name, let request): "fetch \(name) #\(request.attempt) \(request.part)"
        case .relay(_, let id, let host): "relay \(id.value) host \(host)"
        case .passOn(let message): "pass on \(message.stream)"
        case .passOnBar(let name, let bar, _): "pass on \(name) \(bar.closing)"
        case .readListing(let upstream, _): "read the list of \(upstream)"
        case .refuseRelay(let id, let error): "refuse relay \(id.value) \(error)"
        }
    }

    static func words(_ event: FeedEvent) -> String {
        let words =
            switch event.kind {
            case .fetched(let content): "fetch \(content.kind) \(content.state) \(Self.words(content.rows))"
            case .updated(let content): "update \(content.kind) \(content.state) \(Self.words(content.rows))"
            case .recovered(let recovery): "recover \(recovery.error.map { "\($0.reason.code)" } ?? "success") missed \(recovery.missed ?? 0)"
            case .failed(let error, _): "fail \(error.code)"
            case .status(let state, _, _): "status \(state)"
            default: "\(event.kind)"
            }
        return "\(event.stream) \(event.id.sequence) \(words)"
    }
}

extension Simulation {
    func describe(_ event: FeedEvent) -> String { Trace.words(event) }

    /// What a person needs to find the cause.
    var report: String {
        guard let broken = verdict.broken else { return "seed \(seed): nothing broke in \(steps) steps" }
        let word = broken.detail.split(whereSeparator: { $0 == " " || $0 == ":" }).first { $0.contains("@") }.map(String.init)
        var text = "SEED=\(seed) breaks \"\(broken.invariant.rawValue)\" at step \(steps), \(queue.now / 1_000_000) ms: \(broken.detail)"
        guard let trace else { return text }
        if let word { text += "\n--- about \(word)\n" + trace.last(2 * Trace.length, about: word) }
        return text + "\n--- all\n" + trace.last()
    }
}
