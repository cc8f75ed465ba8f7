import Foundation
import NIOConcurrencyHelpers

/// Records a venue's messages unchanged: lines `<receive time, ns since 1970 UTC> <message>` in gzip files, one per symbol and hour, such as
/// `btcusdt_2026112309.gz`. Files of one symbol can be concatenated, and hftbacktest reads them.
///
/// It accepts messages on the feed's thread, and its own thread writes them. The feed never waits for it.
package final class VenueFrameTape: Sendable {
    private struct State {
        /// The queued messages: the time, the line, the lengths of subject and text, and both.
        var bytes: [UInt8] = []
        var messages = 0
        var reading = FrameTapeReading()
        var isStopping = false
    }

    private let state = NIOLockedValueBox(State())
    private let thread = BackgroundThread(name: "frames")
    private let storage: TapeDirectory
    private let keep: Int64
    private let mostBytes: Int
    private let clock: @Sendable () -> Int64
    private let tell: @Sendable (TapeError?) -> Void

    /// - Parameters:
    ///   - directory: Created if it does not exist.
    ///   - keep: How long files are kept, ms.
    ///   - bytes: The maximum size of all files together.
    ///   - clock: The time, ms since 1970 UTC.
    ///   - tell: Called with the error, or with nil when it is over. On the tape's thread.
    package init(
        directory: String, keep: Int64, bytes: Int, clock: @escaping @Sendable () -> Int64, tell: @escaping @Sendable (TapeError?) -> Void
    ) {
        storage = TapeDirectory(directory)
        (self.keep, mostBytes, self.clock, self.tell) = (keep, bytes, clock, tell)
    }

    /// Starts the thread. Call it once.
    package func start() { thread.start { self.run() } }

    /// Records a message. A message without a stream, such as an acknowledgment, is skipped.
    package func record(_ bytes: UnsafeBufferPointer<UInt8>, of subject: String?, line: Int, at nanoseconds: Int64) {
        if let subject {
            let subject = Array(subject.utf8)
            return subject.withUnsafeBufferPointer { if Self.isName($0[...]) { put(bytes, $0[...], line, nanoseconds) } }
        }
        guard let subject = Self.subject(bytes) else { return }
        put(bytes, subject, line, nanoseconds)
    }

    private func put(_ bytes: UnsafeBufferPointer<UInt8>, _ subject: Slice<UnsafeBufferPointer<UInt8>>, _ line: Int, _ nanoseconds: Int64) {
        let isUrgent = state.withLockedValue { state in
            guard state.bytes.count + bytes.count < Self.mostWaiting, !state.isStopping else {
                state.reading.missed &+= 1
                return false
            }
            let before = state.bytes.count
            withUnsafeBytes(of: nanoseconds) { state.bytes += $0 }
            state.bytes.append(UInt8(clamping: line))
            state.bytes.append(UInt8(subject.count))
            withUnsafeBytes(of: UInt32(bytes.count)) { state.bytes += $0 }
            state.bytes += subject
            state.bytes += bytes
            state.messages += 1
            return before < Self.urgentBytes && state.bytes.count >= Self.urgentBytes
        }
        if isUrgent { thread.wake() }
    }

    private static let opening = Array("{\"stream\":\"".utf8)

    /// Whether it can be a file name. Some symbols are Chinese.
    private static func isName(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        (1...mostNameBytes).contains(bytes.count)
            && bytes.allSatisfy { $0 >= 0x80 || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "!") || isalnum(Int32($0)) != 0 }
    }

    /// The subject of a message's stream: `btcusdt` of `btcusdt@depth`; nil if the message has no stream.
    static func subject(_ message: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        guard message.starts(with: opening) else { return nil }
        let rest = message.dropFirst(opening.count)
        guard let end = rest.prefix(mostNameBytes).firstIndex(where: { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "\"") }),
            isName(rest[..<end])
        else { return nil }
        return rest[..<end]
    }

    /// The current counts. Call it from any thread.
    package var reading: FrameTapeReading {
        state.withLockedValue { state in
            var reading = state.reading
            reading.waitingBytes = state.bytes.count
            return reading
        }
    }

    /// Writes everything and ends the thread. Call it once. It waits at most `patience`.
    package func stop(within patience: Duration) async {
        state.withLockedValue { $0.isStopping = true }
        thread.wake()
        _ = await thread.end(within: patience)
    }

    private func run() {
        let writer = VenueFrameWriter(storage, keep: keep, bytes: mostBytes)
        var trouble: TapeError?
        while true {
            thread.sleep(atMost: .seconds(1))
            let (bytes, messages, isStopping) = state.withLockedValue { state in
                defer { (state.bytes, state.messages) = ([], 0) }
                return (state.bytes, state.messages, state.isStopping)
            }
            writer.take(bytes)
            writer.flush(isEnd: isStopping, now: clock())
            let (now, missed, stored) = (writer.trouble, writer.missed, writer.storedBytes)
            state.withLockedValue { state in
                state.reading.messages &+= UInt64(messages)
                state.reading.missed &+= missed
                (state.reading.trouble, state.reading.bytes) = (now, stored)
            }
            if now != trouble {
                trouble = now
                tell(now)
            }
            if isStopping { return }
        }
    }
}

/// The counts of recorded messages.
package struct FrameTapeReading: Sendable, Equatable {
    /// Why they are not recorded; nil if they are.
    package var trouble: TapeError?
    /// The size of all files in bytes.
    package var bytes = 0
    /// Since the start: messages accepted, and messages missing because they arrived too fast or the disk failed.
    package var messages: UInt64 = 0
    package var missed: UInt64 = 0
    package var waitingBytes = 0
}
