import CMicroHTTPD

/// Returns unused memory of the allocator to the system (malloc_trim(3)). This may take some milliseconds, during which allocations of other threads
/// wait.
public func giveFreeMemoryBack() {
    malloc_trim(0)
}

/// The bytes that the program has allocated and not freed, without the memory that the allocator keeps (mallinfo(3)).
public func allocatedMemory() -> Int { cmhd_allocated_bytes() }

/// Limits the allocator's arenas to the number of threads that can run at a time (mallopt(3)), so that threads share them.
///
/// By default the GNU allocator has eight per processor. Each keeps the memory of its threads' busiest moment, so the process would grow by tens of
/// megabytes of unused memory.
public func shareAllocatorArenas() {
    mallopt(M_ARENA_MAX, Int32(clamping: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
}
