import Foundation
import NIOCore

/// Milliseconds since 1970 UTC by the wall clock, for the times in payloads.
func wallClock() -> Int64 {
    Int64(Date().timeIntervalSince1970 * 1_000)
}

/// Milliseconds of the monotonic clock, for limits and deadlines.
func monotonicClock() -> Int64 {
    Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)
}
