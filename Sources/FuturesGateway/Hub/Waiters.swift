import FuturesFeed
import Replication

/// The event that a request waits for.
enum AwaitedEvent {
    /// Any content.
    case value
    /// Content that is not `connecting`: it was verified, or has failed.
    case current
    /// The answer over REST, because messages bring only the newest row of the content, or a failure.
    case history
    /// The result of a fetch that the request started.
    case fetch
    /// A change of the content or of the state.
    case change
}

/// The requests that wait for an event of one stream. `Timer` is what ends a wait in time.
struct Waiters<Timer> {
    /// A request that waits.
    struct Waiter {
        let awaited: AwaitedEvent
        var timer: Timer
        /// Called when the timer fires: how much longer to wait; nil to give up.
        let longer: () -> Duration?
        /// Called once.
        let answer: (Result<Void, FeedError>) -> Void
    }

    private var waiters: [UInt64: Waiter] = [:]

    var isEmpty: Bool { waiters.isEmpty }

    /// Whether a request waits for the result of a fetch.
    var areFetching: Bool { waiters.values.contains { $0.awaited == .fetch } }

    mutating func add(_ waiter: Waiter, _ number: UInt64) { waiters[number] = waiter }

    /// Removes the requests that an event answers, and returns them with their answer.
    ///
    /// - Parameter isConnecting: Whether the stream is `connecting` after the event.
    mutating func take(
        answeredBy event: EncodedEvent, isConnecting: @autoclosure () -> Bool
    ) -> (waiters: [Waiter], answer: Result<Void, FeedError>) {
        guard !waiters.isEmpty else { return ([], .success(())) }
        let isConnecting = isConnecting()
        return switch (event.kind, event.detail) {
        case (.fetchedValue, _), (.fetchedChange, _): (take { $0 != .current || !isConnecting }, .success(()))
        case (.value, _), (.change, _): (take { $0 == .value || $0 == .change || $0 == .current && !isConnecting }, .success(()))
        case (.status, _): (take { $0 == .change || $0 == .current && !isConnecting }, .success(()))
        // A refused subscription brings no content soon.
        case (.failed, .failed(let error)) where !error.isTransient: (take { $0 != .fetch && $0 != .change }, .failure(error))
        case (.fetchFailed, .failed(let error)): (take { $0 == .fetch || $0 == .history }, .failure(error))
        default: ([], .success(()))
        }
    }

    /// Removes the requests that wait for events of this kind, and returns them.
    mutating func take(_ matches: (AwaitedEvent) -> Bool) -> [Waiter] {
        let numbers = waiters.filter { matches($0.value.awaited) }.keys
        return numbers.compactMap { waiters.removeValue(forKey: $0) }
    }

    mutating func remove(_ number: UInt64) -> Waiter? { waiters.removeValue(forKey: number) }

    /// How much longer the request waits after its timer has fired; nil if it gives up or has ended.
    func patience(of number: UInt64) -> Duration? { waiters[number]?.longer() }

    mutating func setTimer(_ timer: Timer, of number: UInt64) { waiters[number]?.timer = timer }
}
