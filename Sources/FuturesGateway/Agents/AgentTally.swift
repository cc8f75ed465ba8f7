import Synchronization

/// Counts agents' calls. Call it from any thread.
final class AgentTally: Sendable {
    enum Outcome: String, CaseIterable, Sendable {
        case given
        /// The value was not as current as required.
        case stale
        /// The request was invalid or not permitted.
        case refused
        /// The value was unavailable.
        case unavailable
    }

    struct Count: Sendable {
        let call: String
        let outcome: Outcome
        let count: UInt64
    }

    private let counts = Mutex<[String: [Outcome: UInt64]]>([:])

    /// - Parameter call: A constant of the program, never text from a client.
    func count(_ call: String, _ outcome: Outcome) { counts.withLock { $0[call, default: [:]][outcome, default: 0] &+= 1 } }

    /// The label under which a refused method is counted.
    static func label(of method: String) -> String {
        switch method {
        case "tools/call": "call"
        case "resources/read": "read"
        case "subscriptions/listen": "listen"
        default: "other"
        }
    }

    /// All counts, in a fixed order.
    var reading: [Count] {
        let counts = counts.withLock { $0 }
        return counts.sorted { $0.key < $1.key }.flatMap { call, outcomes in
            Outcome.allCases.map { Count(call: call, outcome: $0, count: outcomes[$0] ?? 0) }
        }
    }
}
