import FeedCore
import FeedDialects

/// The venue's answers to relayed requests, kept while they are valid, within a limit of bytes.
struct KeptAnswers<Answer> {
    private struct Kept {
        let answer: Answer
        let bytes: Int
        let receivedAt: Instant
        let until: Instant
    }

    private let maximumBytes: Int
    private var answers: [VenueRelay: Kept] = [:]
    /// Until when each answer is valid. Entries of replaced answers stay until they are the earliest.
    private var ends = EndHeap()
    private(set) var bytes = 0

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    var count: Int { answers.count }
    /// How many entries the heap has, for tests: the number of answers bounds it.
    var placeCount: Int { ends.count }

    /// The answer, when it was received and how long it is valid, if it is kept, valid, and at most `maxAge` ms old.
    func answer(to relay: VenueRelay, now: Instant, maxAge: Int64?) -> (answer: Answer, receivedAt: Instant, until: Instant)? {
        guard let kept = answers[relay], now < kept.until else { return nil }
        guard maxAge.map({ now.milliseconds(since: kept.receivedAt) <= $0 }) ?? true else { return nil }
        return (kept.answer, kept.receivedAt, kept.until)
    }

    /// Keeps an answer for `lifetime`, and makes room by removing the answers that end first, without searching the others.
    mutating func keep(_ answer: Answer, bytes: Int, to relay: VenueRelay, for lifetime: Duration, receivedAt: Instant, now: Instant) {
        let kept = Kept(answer: answer, bytes: bytes + 512, receivedAt: receivedAt, until: now + lifetime)
        remove(relay)
        while kept.bytes > maximumBytes - self.bytes, let next = ends.popFirst() { removeIfDue(next) }
        guard kept.bytes <= maximumBytes - self.bytes else { return }
        answers[relay] = kept
        self.bytes += kept.bytes
        ends.insert((kept.until, relay))
        // At most half of the entries belong to replaced answers.
        guard ends.count > 64, ends.count > 2 * answers.count else { return }
        ends = EndHeap(answers.map { ($0.value.until, $0.key) })
    }

    private mutating func removeIfDue(_ place: EndHeap.Element) { if answers[place.relay]?.until == place.until { remove(place.relay) } }

    private mutating func remove(_ relay: VenueRelay) {
        if let kept = answers.removeValue(forKey: relay) { bytes -= kept.bytes }
    }
}

/// A binary heap: finding the earliest end takes constant time, changes take logarithmic time.
private struct EndHeap {
    typealias Element = (until: Instant, relay: VenueRelay)

    private var elements: [Element] = []

    init(_ elements: [Element] = []) { self.elements = elements.sorted { $0.until < $1.until } }

    var count: Int { elements.count }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var place = elements.count - 1
        while place > 0, case let parent = (place - 1) / 2, elements[place].until < elements[parent].until {
            elements.swapAt(place, parent)
            place = parent
        }
    }

    mutating func popFirst() -> Element? {
        guard let first = elements.first, let last = elements.popLast() else { return nil }
        guard !elements.isEmpty else { return first }
        elements[0] = last
        var place = 0
        while case let left = 2 * place + 1, left < elements.count {
            let right = left + 1
            let least = right < elements.count && elements[right].until < elements[left].until ? right : left
            guard elements[least].until < elements[place].until else { break }
            elements.swapAt(least, place)
            place = least
        }
        return first
    }
}
