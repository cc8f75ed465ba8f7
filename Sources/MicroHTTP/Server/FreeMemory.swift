import CMicroHTTPD

/// Returns unused memory of the allocator to the system (malloc_trim(3)). This may take some milliseconds, during which allocations of other threads
/// wait.
public func giveFreeMemoryBack() {
    malloc_trim(0)
}

/// Bytes that the program has allocated and not given back, without what the allocator keeps (mallinfo(3)).
public func allocatedMemory() -> Int { cmhd_allocated_bytes() }

/// Lets threads share the allocator's arenas, no more of them than can run at a time (mallopt(3)).
///
/// The GNU allocator has eight for each processor unless told otherwise. Each keeps what the busiest moment of its threads took, so the
/// process grows by tens of megabytes that nobody uses.
public func shareAllocatorArenas() {
    mallopt(M_ARENA_MAX, Int32(clamping: max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
}
