package import FeedCore
import NIOCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The machine's wall clock, which may jump. Used for times that people read, never for ages.
package enum WallClock {
    /// Milliseconds since 1970 UTC.
    package static var milliseconds: Int64 { nanoseconds / 1_000_000 }

    /// Milliseconds since 1970 UTC as of the kernel's last tick, up to 10 ms ago. Cheap enough for every event.
    package static var coarseMilliseconds: Int64 { read(CLOCK_REALTIME_COARSE) / 1_000_000 }

    /// Nanoseconds since 1970 UTC.
    package static var nanoseconds: Int64 { read(CLOCK_REALTIME) }
}

/// A clock that never jumps and includes the sleep of the machine. With a clock that stops, a price from before the sleep would look new.
private let lastingClock = CLOCK_BOOTTIME

/// The current time of one of the kernel's clocks, nanoseconds.
private func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}

extension Moment {
    /// The current time by both clocks of this machine.
    package static var current: Moment { Moment(instant: .current, wallClock: WallClock.milliseconds) }
}

extension Instant {
    /// The current time by the clock of ages.
    package static var current: Instant { Instant(nanoseconds: read(lastingClock)) }

    /// This instant by the clock of SwiftNIO's timers, which stops while the machine sleeps; now if it has passed, and at most ten years ahead.
    var timer: NIODeadline {
        let (wait, isAbsurd) = nanoseconds.subtractingReportingOverflow(Instant.current.nanoseconds)
        return .now() + .nanoseconds(isAbsurd ? 0 : min(max(wait, 0), 315_576_000_000_000_000))
    }
}
