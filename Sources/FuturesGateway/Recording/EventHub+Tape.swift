import FuturesFeed
import NIOCore
import Tape

extension EventHub {
    /// Records from now on. Call it once, before anything is read.
    func record(on tape: Tape, _ configuration: TapeConfiguration) {
        run { hub in
            hub.state.value.tape = TapeFeeder(tape, configuration.streams)
            let period = TimeAmount(TapeFeeder.period)
            hub.feed.loop.scheduleRepeatedTask(initialDelay: period, delay: period) { _ in
                hub.state.value.tape?.tick(hub.feed) { Array(hub.state.value.streams.keys) }
            }
        }
    }
}
