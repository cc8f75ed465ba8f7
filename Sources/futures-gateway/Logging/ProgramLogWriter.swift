import Foundation
import FuturesGateway
import Logging
import NIOConcurrencyHelpers

/// Writes the program log on its own thread from a bounded buffer, so that logging never waits for a reader of the log. Lines that do not fit are
/// dropped and counted.
final class ProgramLogWriter: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var rate = LogRate()
        var counts = LogCounts()
        /// Lines dropped since the last accepted one.
        var lost: UInt64 = 0
        var isWriting = false
        var isStarted = false
    }

    /// The maximum size of the buffer in bytes.
    static let capacity = 256 << 10

    private let descriptor: Int32
    private let format: LogFormat
    private let state = NIOLockedValueBox(State())
    private let work = DispatchSemaphore(value: 0)

    /// - Parameter descriptor: Must stay open as long as the program runs.
    init(descriptor: Int32 = STDERR_FILENO, format: LogFormat) {
        self.descriptor = descriptor
        self.format = format
    }

    var counts: LogCounts { state.withLockedValue { $0.counts } }

    /// Logs a line. Call it from any thread; it does not block. A line that repeats too often is counted, and the count is logged a second later.
    func log(_ line: LogLine) {
        let (isNew, starts) = state.withLockedValue { state in
            let wasIdle = state.bytes.isEmpty && !state.rate.withholds
            defer { state.isStarted = true }
            if state.rate.admits(line.message, line.level, now: Self.now) { put(line, &state) } else { state.counts.repeated &+= 1 }
            return (wasIdle, !state.isStarted)
        }
        if starts {
            let thread = Thread { self.run() }
            thread.name = "log"
            thread.start()
        }
        if isNew { work.signal() }
    }

    private static var now: Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds) }

    /// Waits until everything is written, at most `limit`.
    func flush(within limit: Duration) {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline, state.withLockedValue({ $0.isWriting || !$0.bytes.isEmpty }) { usleep(2000) }
    }

    private func put(_ line: LogLine, _ state: inout State) {
        guard state.lost == 0 || state.bytes.count < Self.capacity / 2 else { return leaveOut(&state) }
        var bytes = line.bytes(format)
        if state.lost > 0 {
            bytes = LogLine(level: .warning, message: "\(state.lost) lines were dropped: the log's reader was too slow").bytes(format) + bytes
        }
        guard state.bytes.count + bytes.count <= Self.capacity else { return leaveOut(&state) }
        state.lost = 0
        state.counts.written &+= 1
        state.bytes += bytes
    }

    private func leaveOut(_ state: inout State) {
        state.counts.full &+= 1
        state.lost &+= 1
    }

    private func run() {
        // If the reader of the log goes away, the program must not end.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        while true {
            let withholds = state.withLockedValue { $0.rate.withholds }
            _ = work.wait(timeout: withholds ? .now() + .milliseconds(250) : .distantFuture)
            let bytes = state.withLockedValue { state in
                for line in state.rate.summaries(now: Self.now) { put(line, &state) }
                let bytes = state.bytes
                state.bytes = []
                state.isWriting = !bytes.isEmpty
                return bytes
            }
            write(bytes)
            state.withLockedValue { $0.isWriting = false }
        }
    }

    private func write(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&wanted, 1, -1)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}

extension Slice where Base == UnsafeRawBufferPointer {
    fileprivate var baseAddress: UnsafeRawPointer? { base.baseAddress.map { $0 + startIndex } }
}
