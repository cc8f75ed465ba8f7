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
    case request(stream: Int, attempt: UInt64)
    case ping(ConnectionID)
    case market(symbol: Int)
    case flush(stream: Int)
    case tick
    case fault
    case restart
    case venueUp
    case reader(Int)
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
        let happening: Happening

        static func < (a: Entry, b: Entry) -> Bool { a.at < b.at || (a.at == b.at && a.order < b.order) }
    }

    private var heap: [Entry] = []
    private var order: UInt64 = 0
    /// The virtual clock.
    var now: Nanoseconds = .seconds(1)

    var next: Nanoseconds? { heap.first?.at }

    /// Milliseconds since 1970 of the virtual clock.
    var wallClock: Int64 { 1_763_679_600_000 + now / 1_000_000 }

    func plan(_ happening: Happening, in delay: Nanoseconds) { plan(happening, at: now + delay) }

    func plan(_ happening: Happening, at: Nanoseconds) {
        order += 1
        heap.append(Entry(at: max(at, now), order: order, happening: happening))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the earliest, and sets the clock to its time.
    func pop() -> Happening? {
        guard let last = heap.popLast() else { return nil }
        guard let first = heap.first else { return take(last) }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child] < heap[least] { least = child }
            guard least != parent else { break }
            heap.swapAt(parent, least)
            parent = least
        }
        return take(first)
    }

    private func take(_ entry: Entry) -> Happening {
        now = max(now, entry.at)
        return entry.happening
    }
}
