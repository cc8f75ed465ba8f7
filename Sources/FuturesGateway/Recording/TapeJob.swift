import NIOConcurrencyHelpers
import NIOCore

/// A request for the tape. It ends exactly once: it is answered, its client disconnects, or its time is up.
final class TapeJob: Sendable {
    private struct State {
        var isOver = false
        var lease: TapeWorker.Lease?
        var deadline: Scheduled<Void>?
    }

    private let state = NIOLockedValueBox(State())

    /// Records the accepted work and its deadline.
    func begin(_ lease: TapeWorker.Lease, _ deadline: Scheduled<Void>) {
        let isOver = state.withLockedValue { state in
            if !state.isOver { (state.lease, state.deadline) = (lease, deadline) }
            return state.isOver
        }
        guard isOver else { return }
        deadline.cancel()
        lease.leave()
    }

    /// Ends the request if it has not ended: cancels the work, then calls `answer`.
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

/// The progress of a piece of work. Only the worker's thread uses it.
final class PartialWork<Value>: @unchecked Sendable {
    var value: Value?
}
