@testable import FeedCore

/// Nanoseconds of the virtual clock.
typealias Nanoseconds = Int64

extension Nanoseconds {
    static func ms(_ milliseconds: Int64) -> Nanoseconds { milliseconds * 1_000_000 }
    static func seconds(_ seconds: Int64) -> Nanoseconds { seconds * 1_000_000_000 }
}

/// What is going to happen in the simulated world.
enum Happening {
    /// Something reaches the core.
    case input(FeedInput)
    /// A frame reaches the core's end of a connection.
    case frame(ConnectionID, UpstreamEvent)
    /// A connection attempt reaches the venue.
    case connect(ConnectionID)
    /// A control message reaches the venue.
    case control(ConnectionID, ControlMessage)
    /// The venue has taken in a control message.
    case processed(ConnectionID, ControlMessage)
    /// A connection is cut by the venue.
    case cut(ConnectionID)
    /// A REST request reaches the venue.
    case request(stream: Int, FetchRequest)
    case ping(ConnectionID)
    case market(symbol: Int)
    case flush(stream: Int)
    case tick
    case fault
    case restart
    case list
    case script(Int)
    case reader(Int)
    /// Bots ask for what only REST has.
    case bots
    case check
    case heal, calm, verify, leave, empty
}

/// A SUBSCRIBE or UNSUBSCRIBE on its way.
struct ControlMessage {
    let subscribes: Bool
    let streams: [Int]
    let request: UInt64
}

/// What is to come, earliest first, and what comes at one moment in the order it was planned.
final class EventQueue {
    private struct Entry {
        let at: Nanoseconds
        let order: UInt64
        /// Where the happening is kept.
        let place: Int

        static func < (a: Entry, b: Entry) -> Bool { a.at < b.at || (a.at == b.at && a.order < b.order) }
    }

    private var heap: [Entry] = []
    private var happenings: [Happening?] = []
    private var freePlaces: [Int] = []
    private var order: UInt64 = 0
    /// The virtual clock.
    var now: Nanoseconds = .seconds(1)

    var next: Nanoseconds? { heap.first?.at }

    /// Milliseconds since 1970 of the virtual clock.
    var wallClock: Int64 { wallClock(in: 0) }

    func wallClock(in delay: Nanoseconds) -> Int64 { 1_763_679_600_000 + (now + delay) / 1_000_000 }

    func plan(_ happening: Happening, in delay: Nanoseconds) { plan(happening, at: now + delay) }

    func plan(_ happening: Happening, at: Nanoseconds) {
        order += 1
        let place = freePlaces.popLast() ?? happenings.count
        if place == happenings.count { happenings.append(happening) } else { happenings[place] = happening }
        let entry = Entry(at: max(at, now), order: order, place: place)
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry < heap[parent] else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = entry
    }

    /// Takes the earliest, and sets the clock to its time.
    func pop() -> Happening? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return take(last) }
        var parent = 0
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
            guard heap[child] < last else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = last
        return take(first)
    }

    private func take(_ entry: Entry) -> Happening? {
        now = max(now, entry.at)
        let happening = happenings[entry.place]
        happenings[entry.place] = nil
        freePlaces.append(entry.place)
        return happening
    }
}
