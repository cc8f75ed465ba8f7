import CMicroHTTPD

/// Returns unused memory of the allocator to the system (malloc_trim(3)). This may take some milliseconds, during which allocations of other threads
/// wait.
public func giveFreeMemoryBack() {
    malloc_trim(0)
}
