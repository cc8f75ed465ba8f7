#if TSAN
    import Glibc

    /// Replaces `Synchronization.Mutex` in builds for the thread sanitizer (`-Xswiftc -DTSAN`). The sanitizer knows POSIX mutexes, but not the
    /// contended path of the standard library's, and would report accesses protected by it as a race.
    struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private let value: UnsafeMutablePointer<Value>

        init(_ initial: consuming sending Value) {
            lock = .allocate(capacity: 1)
            pthread_mutex_init(lock, nil)
            value = .allocate(capacity: 1)
            value.initialize(to: initial)
        }

        deinit {
            value.deinitialize(count: 1)
            value.deallocate()
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }

        func withLock<Result: ~Copyable, Failure: Error>(_ body: (inout Value) throws(Failure) -> sending Result) throws(Failure) -> sending Result {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return try body(&value.pointee)
        }

        func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result? {
            guard pthread_mutex_trylock(lock) == 0 else { return nil }
            defer { pthread_mutex_unlock(lock) }
            return try body(&value.pointee)
        }
    }
#endif
