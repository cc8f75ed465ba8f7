import Synchronization

/// Counts what agents ask. Call it from any thread.
final class AgentTally: Sendable {
    enum Outcome: String, CaseIterable, Sendable {
        case given
        /// The value was not as current as it had to be.
        case stale
        /// The request was at fault, or not permitted.
        case refused
        /// The value could not be had.
        case unavailable
    }

    struct Count: Sendable {
        let call: String
        let outcome: Outcome
        let count: UInt64
    }

    private let counts = Mutex<[String: [Outcome: UInt64]]>([:])

    /// - Parameter call: a constant of the program; never what a client says.
    func count(_ call: String, _ outcome: Outcome) { counts.withLock { $0[call, default: [:]][outcome, default: 0] &+= 1 } }

    /// What the refusal of a method counts as.
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
