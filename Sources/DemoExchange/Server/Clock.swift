import Foundation
import NIOCore

/// Milliseconds since 1970 UTC on the wall clock, for the times in payloads.
func wallClock() -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1_000)
}

/// Milliseconds on the monotonic clock, for limits and deadlines.
func monotonicClock() -> Int64 {
    Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)
}
