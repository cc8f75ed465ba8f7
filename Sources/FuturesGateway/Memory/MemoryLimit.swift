import Glibc

/// The memory that the process may use. It is the smallest of the readable limits of its control group and that group's parents, and the machine's
/// memory (cgroups(7); Control Group v2, `memory.max`; cgroup-v1/memory, `memory.limit_in_bytes`).
struct MemoryLimit: Sendable, Equatable {
    /// The limit in bytes, at least one.
    let bytes: Int
    /// The bytes that the kernel counts for the group with that limit, without file pages, which it drops on demand. Nil if no group has a limit.
    let used: Int?

    /// - Parameters:
    ///   - machine: The machine's memory in bytes.
    ///   - read: Returns a file's text; empty if it cannot be read.
    init(machine: Int = Self.machine, read: (String) -> String = ProcessReading.text) {
        var least = max(1, machine)
        var group: (folder: String, version: Version)?
        for line in read("/proc/self/cgroup").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let version = Version(controllers: parts[1]) else { continue }
            var path = parts[2].split(separator: "/")
            while true {
                let folder = ([version.mount[...]] + path).joined(separator: "/")
                if let limit = Self.number(read("\(folder)/\(version.limit)")), limit > 0, limit < least {
                    least = limit
                    group = (folder, version)
                }
                guard path.popLast() != nil else { break }
            }
        }
        bytes = least
        used = group.flatMap { group in
            Self.number(read("\(group.folder)/\(group.version.usage)")).map { usage in
                let fields = read("\(group.folder)/memory.stat").split(whereSeparator: \.isWhitespace)
                let place = fields.firstIndex(of: group.version.droppable[...])
                let droppable = place.flatMap { fields.dropFirst($0 + 1).first }.flatMap { Int($0) } ?? 0
                return max(0, usage.subtractingReportingOverflow(droppable).partialValue)
            }
        }
    }

    /// The machine's memory in bytes.
    static let machine: Int = {
        let (bytes, isTooMuch) = sysconf(Int32(_SC_PHYS_PAGES)).multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        return isTooMuch || bytes <= 0 ? .max : bytes
    }()

    private static func number(_ text: String) -> Int? { text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } }

    /// The file names of both control group versions.
    private enum Version {
        case one, two

        /// - Parameter controllers: The second field of a line of `/proc/self/cgroup`.
        init?(controllers: Substring) {
            if controllers.isEmpty {
                self = .two
            } else if controllers.split(separator: ",").contains("memory") {
                self = .one
            } else {
                return nil
            }
        }

        var mount: String { self == .one ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup" }
        var limit: String { self == .one ? "memory.limit_in_bytes" : "memory.max" }
        var usage: String { self == .one ? "memory.usage_in_bytes" : "memory.current" }
        var droppable: String { self == .one ? "total_inactive_file" : "inactive_file" }
    }
}
