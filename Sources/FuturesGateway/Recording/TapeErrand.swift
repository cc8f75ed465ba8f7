import NIOConcurrencyHelpers
import NIOCore

/// A request for the tape, from its beginning to its only end: it is answered, its client hangs up, or its time is over.
final class TapeErrand: Sendable {
    private struct State {
        var isOver = false
        var lease: TapeDesk.Lease?
        var deadline: Scheduled<Void>?
    }

    private let state = NIOLockedValueBox(State())

    /// The work was taken, and has to end in time.
    func begin(_ lease: TapeDesk.Lease, _ deadline: Scheduled<Void>) {
        let isOver = state.withLockedValue { state in
            if !state.isOver { (state.lease, state.deadline) = (lease, deadline) }
            return state.isOver
        }
        guard isOver else { return }
        deadline.cancel()
        lease.leave()
    }

    /// Ends it, if this is the first end: gives the work up, then calls `answer`.
    func end(_ answer: () -> Void = {}) {
        let ended = state.withLockedValue { state -> State? in
            guard !state.isOver else { return nil }
            defer { state = State(isOver: true) }
            return state
        }
        guard let ended else { return }
        ended.deadline?.cancel()
        ended.lease?.leave()
        answer()
    }
}

/// What a piece of work has got to. The desk's thread alone uses it.
final class DeskWork<Value>: @unchecked Sendable {
    var value: Value?
}
