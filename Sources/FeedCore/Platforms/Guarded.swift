#if canImport(Darwin)
    import os
#else
    import Synchronization
#endif

/// A value protected by a lock. Replaces `Mutex`, which Apple's platforms have only from iOS 18 and macOS 15 on.
package struct Guarded<Value>: ~Copyable, @unchecked Sendable {
    #if canImport(Darwin)
        private let lock: OSAllocatedUnfairLock<Value>

        package init(_ value: sending Value) { lock = OSAllocatedUnfairLock(uncheckedState: value) }

        package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result { try lock.withLockUnchecked(body) }
    #else
        private let lock: Mutex<Value>

        package init(_ value: sending Value) { lock = Mutex(value) }

        package func withLock<Result>(_ body: (inout sending Value) throws -> sending Result) rethrows -> sending Result { try lock.withLock(body) }
    #endif
}
