import Crypto
import Synchronization

/// Decides the identity and the permission of a caller, and whether it exceeds a limit. Call it from any thread; calls take microseconds.
///
/// It remembers valid tokens until they expire, so that each signature is checked only once. Times are `ClockReading`s.
public final class Gatekeeper: Sendable {
    /// The current time on both clocks.
    public struct ClockReading: Sendable {
        /// Seconds since 1970 UTC.
        public var seconds: Int64
        /// Monotonic nanoseconds.
        public var nanoseconds: Int64

        /// Creates a reading; see the properties.
        public init(seconds: Int64, nanoseconds: Int64) {
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }
    }

    struct State {
        var rules: AccessRules
        var verified: [SHA256Digest: Principal] = [:]
        var tickets = Tickets()
        var keys: Accounts<String>
        var addresses: Accounts<Address>
        var refusals: [RefusalReason: UInt64] = [:]
    }

    let state: Mutex<State>

    /// - Parameter maximumAccounts: How many keys, and how many addresses, have their own accounts.
    public init(rules: AccessRules, maximumAccounts: Int = 50_000) {
        state = Mutex(State(rules: rules, keys: Accounts(maximum: maximumAccounts), addresses: Accounts(maximum: maximumAccounts)))
    }

    /// The current rules.
    public var rules: AccessRules { state.withLock { $0.rules } }

    /// Replaces the rules; the counts stay.
    public func replace(_ rules: AccessRules) {
        state.withLock { state in
            state.rules = rules
            state.verified = [:]
        }
    }

    /// The number of refused requests so far, by reason.
    public var refusals: [RefusalReason: UInt64] { state.withLock { $0.refusals } }

    /// Counts a refusal for a reason found elsewhere; limits are counted when they are reached.
    public func count(_ reason: RefusalReason) { state.withLock { $0.refusals[reason, default: 0] &+= 1 } }

    /// Whether credentials are read at all. Without keys and tokens they are not, because a credential may be intended for another server.
    public var asksForCredentials: Bool { state.withLock { $0.rules.hasCredentials } }
}
