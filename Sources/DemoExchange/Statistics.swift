import Synchronization

/// The counts of a ``DemoExchange`` since it was created; stopping and starting again does not reset them.
public struct Statistics: Sendable, Equatable {
    /// WebSocket connections accepted since creation.
    public internal(set) var connectionsEver = 0
    /// WebSocket connections open now.
    public internal(set) var connectionsNow = 0
    /// Text messages received on WebSocket connections, valid or not.
    public internal(set) var controlMessages = 0
    /// How often each stream name was subscribed, by SUBSCRIBE or in a URL.
    public internal(set) var subscribes: [String: Int] = [:]
    /// How often each stream name was unsubscribed, by UNSUBSCRIBE.
    public internal(set) var unsubscribes: [String: Int] = [:]
    /// Number of connections now subscribed to each stream name; names without any are absent.
    public internal(set) var activeSubscriptions: [String: Int] = [:]
    /// Number of REST requests per path and query, exactly as received.
    public internal(set) var requests: [String: Int] = [:]
    /// How many times ``Fault/drop(code:afterBytes:)`` and ``Fault/dropRandomly(mean:seed:duration:)`` have cut connections.
    public internal(set) var drops = 0
    /// Data frames sent per stream name, counted once per connection.
    public internal(set) var framesSent: [String: Int] = [:]
}

extension Statistics {
    /// A JSON object of the connection counts, of the connections subscribed to each stream now, and of REST requests by path and query.
    var json: String {
        func object(_ counts: [String: Int]) -> String {
            "{" + counts.map { "\(JSONValue.quoted($0.key)):\($0.value)" }.joined(separator: ",") + "}"
        }
        let counts = #""connectionsEver":\#(connectionsEver),"connectionsNow":\#(connectionsNow),"controlMessages":\#(controlMessages)"#
        return #"{\#(counts),"activeSubscriptions":\#(object(activeSubscriptions)),"requests":\#(object(requests))}"#
    }
}

/// An event at a ``DemoExchange``, for tests to await.
public enum Event: Sendable, Equatable {
    /// A WebSocket connection was accepted.
    case connected
    /// A WebSocket connection ended, for any reason.
    case disconnected
    /// A connection subscribed to these names, by SUBSCRIBE or in its URL.
    case subscribed([String])
    /// A connection unsubscribed from these names, by UNSUBSCRIBE.
    case unsubscribed([String])
    /// A REST request came in; the value is its path and query as received.
    case request(String)
}

/// The counters and the listeners, shared between the exchange's event loop and its users.
final class Ledger: Sendable {
    private struct State {
        var statistics = Statistics()
        var listeners: [Int: AsyncStream<Event>.Continuation] = [:]
        var nextListener = 0
    }
    private let state = Mutex(State())

    var statistics: Statistics { state.withLock { $0.statistics } }

    func update(_ change: (inout Statistics) -> Void) {
        state.withLock { change(&$0.statistics) }
    }

    func note(_ event: Event, _ change: (inout Statistics) -> Void) {
        let listeners = state.withLock { state in
            change(&state.statistics)
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(event) }
    }

    /// A WebSocket was opened.
    func connected() {
        note(.connected) {
            $0.connectionsEver += 1
            $0.connectionsNow += 1
        }
    }

    /// A WebSocket has ended.
    func disconnected() { note(.disconnected) { $0.connectionsNow -= 1 } }

    /// One more connection is subscribed to each of these names.
    func subscribed(_ names: [String]) {
        note(.subscribed(names)) { statistics in
            for name in names {
                statistics.subscribes[name, default: 0] += 1
                statistics.activeSubscriptions[name, default: 0] += 1
            }
        }
    }

    /// One connection fewer is subscribed to each of these names.
    func unsubscribed(_ names: [String]) {
        note(.unsubscribed(names)) { statistics in
            for name in names {
                statistics.unsubscribes[name, default: 0] += 1
                let left = statistics.activeSubscriptions[name, default: 1] - 1
                statistics.activeSubscriptions[name] = left > 0 ? left : nil
            }
        }
    }

    func events() -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(10_000))
        let number = state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
        }
        return stream
    }
}
