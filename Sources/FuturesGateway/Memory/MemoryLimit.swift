import Glibc

/// What memory the process may use: the least of what its control groups allow, its own and those above it as far as they can be seen, and
/// of what the machine has (cgroups(7); Control Group v2, `memory.max`; cgroup-v1/memory, `memory.limit_in_bytes`).
struct MemoryLimit: Sendable, Equatable {
    /// Bytes, one at least.
    let bytes: Int
    /// What the kernel counts to the group with that limit, without pages of files that it drops as soon as memory is wanted; nil where
    /// no group has one.
    let used: Int?

    /// - Parameters:
    ///   - machine: bytes the machine has.
    ///   - read: a file's text, empty where there is none.
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

    /// Bytes of memory the machine has.
    static let machine: Int = {
        let (bytes, isTooMuch) = sysconf(Int32(_SC_PHYS_PAGES)).multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        return isTooMuch || bytes <= 0 ? .max : bytes
    }()

    private static func number(_ text: String) -> Int? { text.split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) } }

    /// What the two versions of control groups call their files.
    private enum Version {
        case one, two

        /// - Parameter controllers: the second field of a line of `/proc/self/cgroup`.
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
