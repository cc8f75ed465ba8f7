import Glibc
import MicroHTTP

/// The kernel's data about this process (proc(5), getrusage(2)). Reading takes longer if many descriptors are open.
struct ProcessReading: Sendable {
    /// User and system time of all threads, seconds.
    let processorSeconds: Double
    /// Resident bytes; zero if the kernel does not report them.
    let residentBytes: Int
    /// Bytes that the program has allocated and not freed. Memory that the allocator keeps is resident too.
    let allocatedBytes: Int
    let openDescriptors: Int
    let descriptorLimit: UInt64
    let threads: Int
    /// Seconds since 1970 UTC.
    let startedAt: Double

    init() {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        processorSeconds = [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1_000_000 }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        descriptorLimit = UInt64(limit.rlim_cur)
        let pages = Self.fields("/proc/self/statm").dropFirst().first.flatMap { Int($0) } ?? 0
        residentBytes = pages &* sysconf(Int32(_SC_PAGESIZE))
        allocatedBytes = allocatedMemory()
        // The text after the name in brackets, which is the only field with blanks. It starts with the state, the third field of proc(5).
        let fields = Self.fields("/proc/self/stat", after: ")")
        threads = fields.count > 17 ? Int(fields[17]) ?? 0 : 0
        let ticks = fields.count > 19 ? Double(fields[19]) ?? 0 : 0
        let booted = Self.text("/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) } ?? 0
        startedAt = booted + ticks / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        openDescriptors = Self.entries("/proc/self/fd")
    }

    /// The number of processors on which the process may run (proc(5), `Cpus_allowed`); all of the machine's if the kernel does not report it.
    ///
    /// - Parameter read: Returns a file's text; empty if it cannot be read.
    static func processors(read: (String) -> String = text) -> Int {
        let mask = read("/proc/self/status").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }?.dropFirst("Cpus_allowed:".count) ?? ""
        let count = mask.reduce(0) { $0 + ($1.hexDigitValue?.nonzeroBitCount ?? 0) }
        return count > 0 ? count : sysconf(Int32(_SC_NPROCESSORS_ONLN))
    }

    private static func fields(_ path: String, after mark: Character? = nil) -> [Substring] {
        let text = text(path)
        let start = mark.flatMap { text.lastIndex(of: $0) }.map { text.index(after: $0) } ?? text.startIndex
        return text[start...].split { $0 == " " || $0 == "\n" }
    }

    /// A file's text; empty if it cannot be read.
    static func text(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count < 1 << 20 {
            let block = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in count = max(0, read(descriptor, buffer.baseAddress, 4096)) }
            guard !block.isEmpty else { break }
            bytes += block
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func entries(_ path: String) -> Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Without `.`, `..` and the descriptor that reads the directory.
        return max(0, count - 3)
    }
}
