import Glibc

/// `crowd PORT STREAM... [--readers N] [--each K] [--seconds S] [--sequence FIELD] [--stamp FIELD] [--pid PID] [--tls PRIORITIES] [--seed N] [--leave MS] [--check N] [--socket 1]`
struct Options {
    var port: UInt16 = 8080
    var streams: [String] = []
    var readers = 1000
    /// How many of the streams each reader takes, drawn by the seed.
    var each = 1
    var seconds = 5.0
    /// The field of the data that counts a stream's events one by one, so that a missing one shows.
    var sequence: String?
    /// The field that holds the monotonic nanoseconds at which the event was due.
    var stamp: String?
    /// The process whose processor time and memory are told.
    var pid: Int32?
    /// GnuTLS's priorities, such as `NORMAL`; nil in the clear.
    var tls: String?
    var seed: UInt64 = 1
    /// How many of the readers look at what they are sent. The others drop the bytes, and do not even decrypt them, so that they leave the processors to
    /// the gateway; nil: all look. What is told per event then assumes that all were sent as many.
    var check: Int?
    /// As if the readers were other machines: delays end when the bytes arrive at the socket, as the kernel notes, and all is read so many milliseconds
    /// later, so that the processors are left to the gateway before. Nil: delays end when the bytes are read, which is at once.
    var leave: UInt32?
    /// Whether readers open the venue's sockets (`/stream`) instead of `/events`.
    var isSocket = false

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        guard let first = rest.popFirst(), let port = UInt16(first) else { return nil }
        self.port = port
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                streams.append(word)
                continue
            }
            guard let value = rest.popFirst() else { return nil }
            switch word {
            case "--readers": readers = Int(value) ?? readers
            case "--each": each = Int(value) ?? each
            case "--seconds": seconds = Double(value) ?? seconds
            case "--sequence": sequence = value
            case "--stamp": stamp = value
            case "--pid": pid = Int32(value)
            case "--tls": tls = value
            case "--check": check = Int(value)
            case "--leave": leave = UInt32(value)
            case "--socket": isSocket = value == "1"
            case "--seed": seed = UInt64(value) ?? seed
            default: return nil
            }
        }
        guard !streams.isEmpty, each >= 1, each <= streams.count, readers >= 1, seconds > 0 else { return nil }
    }
}
