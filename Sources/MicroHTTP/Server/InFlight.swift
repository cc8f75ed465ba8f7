import Synchronization

/// Requests without a response, connections suspended for them, and open streams. A stop can therefore wait for them and leaves no connection
/// suspended.
final class InFlight: Sendable {
    private struct State {
        var active = 0
        var suspended = 0
        var streams = 0
        var waiting: [ObjectIdentifier: Exchange] = [:]
        var loops: [ObjectIdentifier: EventStreamLoop] = [:]
        var takesStreams = true
        var suspends = true
    }

    private let state = Mutex(State())
    private let changed = Wakeup()

    deinit {
        changed.close()
    }

    func began() {
        state.withLock { $0.active += 1 }
    }

    func ended() {
        notify(
            state.withLock { state in
                state.active -= 1
                assert(state.active >= 0, "More requests ended than began.")
                return state.active == 0 && !state.takesStreams
            })
    }

    var streamCount: Int { state.withLock { $0.streams } }

    var isDraining: Bool {
        state.withLock { !$0.takesStreams }
    }

    /// Suspends the connection until `exchange` is answered; false if the server no longer waits for responses.
    func suspend(_ connection: MHDConnection, for exchange: Exchange) -> Bool {
        state.withLock { state in
            guard state.suspends else { return false }
            state.suspended += 1
            state.waiting[ObjectIdentifier(exchange)] = exchange
            connection.suspend()
            return true
        }
    }

    func resume(_ connection: MHDConnection, for exchange: Exchange) {
        connection.resume()
        notify(
            state.withLock { state in
                state.waiting[ObjectIdentifier(exchange)] = nil
                state.suspended -= 1
                assert(state.suspended >= 0, "More connections were resumed than suspended.")
                return state.suspended == 0 && !state.takesStreams
            })
    }

    /// Counts a stream; false if the server is stopping.
    func streamBegan(in loop: EventStreamLoop) -> Bool {
        state.withLock { state in
            guard state.takesStreams else { return false }
            state.streams += 1
            state.loops[ObjectIdentifier(loop)] = loop
            return true
        }
    }

    func streamEnded() {
        notify(
            state.withLock { state in
                state.streams -= 1
                assert(state.streams >= 0, "More streams ended than began.")
                return state.streams == 0 && !state.takesStreams
            })
    }

    /// Ends all streams of `server` and waits for every response, at most `grace`; then answers the remaining requests with 503.
    func drain(_ server: HTTPServer, grace: Duration) {
        let loops = state.withLock { state in
            state.takesStreams = false
            return Array(state.loops.values)
        }
        for loop in loops { loop.closeStreams(of: server) }
        _ = wait(grace) { $0.active == 0 && $0.suspended == 0 && $0.streams == 0 }
        let late = state.withLock { state in
            state.suspends = false
            return Array(state.waiting.values)
        }
        for exchange in late { exchange.answer(.response(HTTPProblem.stopping.response)) }
        if !late.isEmpty { _ = wait(.seconds(1)) { $0.active == 0 } }
        // Stopping a daemon with a suspended connection aborts the process. A response from another thread may not have resumed its connection yet.
        while !wait(.seconds(60), until: { $0.suspended == 0 }) {}
    }

    private func wait(_ limit: Duration, until done: (State) -> Bool) -> Bool {
        let deadline = monotonicNanoseconds() &+ limit.nanoseconds
        while true {
            if state.withLock({ done($0) }) { return true }
            let now = monotonicNanoseconds()
            guard now < deadline else { return false }
            changed.wait(milliseconds: Int32(clamping: (deadline - now) / 1_000_000 + 1))
        }
    }

    private func notify(_ isDue: Bool) {
        if isDue { changed.signal() }
    }
}
