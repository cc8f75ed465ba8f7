import NIOConcurrencyHelpers

/// Cancels one call of `WebSocketConnection.connect`, from any thread.
package final class ConnectCancellation: Sendable {
    private enum State {
        case idle
        case armed(@Sendable () -> Void)
        case cancelled
    }

    private let state = NIOLockedValueBox(State.idle)

    package init() {}

    /// Fails the attempt with code `cancelled` and closes its socket. An attempt that starts later fails immediately.
    package func cancel() {
        let action: (@Sendable () -> Void)? = state.withLockedValue {
            let before = $0
            $0 = .cancelled
            return if case .armed(let action) = before { action } else { nil }
        }
        action?()
    }

    /// Returns `false` if it is already cancelled.
    func arm(_ action: @escaping @Sendable () -> Void) -> Bool {
        state.withLockedValue {
            if case .cancelled = $0 { return false }
            $0 = .armed(action)
            return true
        }
    }

    func disarm() {
        state.withLockedValue { if case .armed = $0 { $0 = .idle } }
    }
}
