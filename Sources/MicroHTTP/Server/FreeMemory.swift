import CMicroHTTPD

/// Gives what the allocator keeps without using it back to the system (malloc_trim(3)). It may take some milliseconds, during which other threads'
/// allocations wait.
public func giveFreeMemoryBack() {
    malloc_trim(0)
}
