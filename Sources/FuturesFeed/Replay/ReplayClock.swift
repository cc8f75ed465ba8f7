package import FeedCore

/// The time of a replay: how much of the past has passed, and how much may pass by now.
///
/// Time is counted in ms since the replay's first moment. A recorded clock that was set back lets no time pass.
package struct ReplayClock: Sendable {
    /// The end of a step.
    package enum Goal: Sendable, Equatable {
        /// This much time has passed, ms since the first moment.
        case elapsed(Int64)
        /// This number of the venue's messages, or of events, was played.
        case messages(Int)
        case events(Int)
    }

    private let pace: ReplayConfiguration.Pace
    /// The time of the newest record, ms since 1970 UTC by the recorded clock, and the time that has passed until then.
    package private(set) var at: Int64
    package private(set) var elapsed: Int64 = 0
    /// When time began to pass; nil before that.
    private var began: Instant?
    /// The step that is being made; nil if there is none.
    private(set) var goal: Goal?
    /// Time passes up to here without a record, because the next one is later.
    private var bound: Int64 = 0
    /// How often the venue's messages and events were played.
    package private(set) var (messages, events): (UInt64, UInt64) = (0, 0)

    /// - Parameter at: The first moment, ms since 1970 UTC.
    init(_ pace: ReplayConfiguration.Pace, at: Int64) {
        self.at = at
        switch pace {
        // Also not a number, which no comparison allows.
        case .speed(let speed): self.pace = .speed(speed > 0 ? min(speed, ReplayConfiguration.fastest) : 0)
        case .steps: self.pace = .steps
        }
    }

    /// Lets time pass from now on.
    mutating func begin(_ now: Instant) { began = began ?? now }

    /// The time that passes until a record, ms since the first moment.
    package func elapsed(at time: Int64) -> Int64 {
        let (difference, isAbsurd) = time.subtractingReportingOverflow(at)
        return isAbsurd ? elapsed : elapsed.addingReportingOverflow(max(0, difference)).partialValue
    }

    /// Whether a record of that time may be played now.
    func allows(_ time: Int64, _ now: Instant) -> Bool { elapsed(at: time) <= due(now) }

    /// How much time may have passed by now, ms since the first moment.
    private func due(_ now: Instant) -> Int64 {
        switch (pace, goal) {
        case (.steps, nil): return elapsed
        case (.steps, .elapsed(let goal)): return goal
        case (.steps, .messages), (.steps, .events): return .max
        case (.speed(let speed), _):
            guard let began else { return elapsed }
            guard speed > 0 else { return .max }
            return Int64(min(max(Double(now.nanoseconds &- began.nanoseconds) / 1_000_000 * speed, 0), 1e15))
        }
    }

    /// How long until a record of that time may be played; nil if that depends on steps.
    func wait(for time: Int64, _ now: Instant) -> Duration? {
        guard case .speed(let speed) = pace, speed > 0, began != nil else { return nil }
        return .nanoseconds(Int64(min(max(Double(elapsed(at: time) &- due(now)) / speed * 1_000_000, 0), 1e15)))
    }

    /// Records that a record was played.
    mutating func played(_ record: (at: Int64, isMessage: Bool, isEvent: Bool)) {
        (elapsed, at) = (elapsed(at: record.at), record.at)
        bound = max(bound, elapsed)
        if record.isMessage { messages &+= 1 }
        if record.isEvent { events &+= 1 }
        switch goal {
        case .messages(let left) where record.isMessage: goal = .messages(left - 1)
        case .events(let left) where record.isEvent: goal = .events(left - 1)
        default: break
        }
    }

    /// Notes the time of the next record: until then, time passes without one. Nil at the end.
    mutating func note(next time: Int64?) { bound = time.map { elapsed(at: $0) } ?? elapsed }

    /// Begins a step.
    mutating func step(_ goal: Goal) { self.goal = goal }

    /// Whether the step's messages or events were played. A step of time ends when no record is due any more.
    var hasReachedCount: Bool {
        switch goal {
        case .messages(let left), .events(let left): left <= 0
        case .elapsed, nil: false
        }
    }

    /// Ends the step. A step of time has then passed, even if the last record in it is earlier.
    mutating func endStep(isWhole: Bool) {
        if isWhole, case .elapsed(let goal) = goal, goal > elapsed {
            (at, elapsed) = (at &+ (goal &- elapsed), goal)
        }
        goal = nil
    }

    /// The time of the past, ms since the first moment.
    package func passed(_ now: Instant) -> Int64 { max(elapsed, min(due(now), bound)) }

    /// The time of the past, ms since 1970 UTC by the recorded clock.
    package func time(_ now: Instant) -> Int64 { at &+ (passed(now) &- elapsed) }

    /// The time of the past as an instant, for ages.
    func instant(_ now: Instant) -> Instant { Self.instant(passed: passed(now)) }

    /// - Parameter passed: Ms since the first moment; negative before it.
    static func instant(passed: Int64) -> Instant { Instant(nanoseconds: min(max(passed, -mostPassed), mostPassed) * 1_000_000) }

    /// A hundred years, ms.
    private static let mostPassed: Int64 = 3_155_760_000_000
}
