import CEpoll
import Glibc

/// Many readers of a gateway, on one thread: how much they were sent, how late, and whether anything was missing.
@main
enum Crowd {
    static func main() {
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            print(
                "usage: crowd PORT STREAM... [--readers N] [--each K] [--seconds S] [--sequence FIELD] [--stamp FIELD] [--pid PID] "
                    + "[--tls PRIORITIES] [--seed N] [--leave MS] [--check N] [--socket 1]")
            exit(2)
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let epoll = epoll_create1(0)
        let empty = Usage(options.pid)
        var readers: [Reader] = []
        var seed = options.seed
        for number in 0..<options.readers {
            var streams: Set<Int> = []
            while streams.count < options.each {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                streams.insert(Int((seed >> 33) % UInt64(options.streams.count)))
            }
            guard let reader = Reader(options, streams: streams.sorted(), looks: number < options.check ?? .max) else {
                print("reader \(number) could not connect (errno \(errno))")
                exit(1)
            }
            readers.append(reader)
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.u64 = UInt64(number)
            epoll_ctl(epoll, EPOLL_CTL_ADD, reader.descriptor, &event)
        }
        var tally = Tally(options)
        let began = monotonicNanoseconds()
        let counts = began + 3_000_000_000
        let ends = counts + UInt64(options.seconds * 1e9)
        var before = Usage(options.pid)
        var ended = 0
        var isCaughtUp = true
        var events = [epoll_event](repeating: epoll_event(), count: 512)
        while case let now = monotonicNanoseconds(), now < ends {
            if now >= counts, !tally.isCounting {
                tally.isCounting = true
                tally.bytes = 0
                before = Usage(options.pid)
            }
            var count = epoll_wait(epoll, &events, Int32(events.count), 10)
            if let leave = options.leave, count > 0, isCaughtUp {
                usleep(leave * 1000)
                count = epoll_wait(epoll, &events, Int32(events.count), 0)
            }
            isCaughtUp = count < events.count
            for index in 0..<max(0, Int(count)) {
                let number = Int(events[index].data.u64)
                if !readers[number].read(&tally) {
                    epoll_ctl(epoll, EPOLL_CTL_DEL, readers[number].descriptor, nil)
                    ended += 1
                }
            }
        }
        tell(options, tally, ended, empty, before, Usage(options.pid))
    }

    private static func tell(_ options: Options, _ tally: Tally, _ ended: Int, _ empty: Usage, _ before: Usage, _ after: Usage) {
        let delays = tally.delays.sorted()
        func delay(_ share: Double) -> Double {
            delays.isEmpty ? 0 : Double(delays[min(delays.count - 1, Int(share * Double(delays.count)))]) / 1000
        }
        let events = Double(tally.events) * Double(options.readers) / Double(min(options.readers, options.check ?? .max))
        let million = events / 1e6
        let seconds = after.seconds - before.seconds
        print(
            #"{"readers":\#(options.readers),"each":\#(options.each),"of":\#(options.streams.count),"events":\#(Int(events)),"#
                + #""perSecond":\#(Int(events / options.seconds)),"megabytesPerSecond":\#(Int(Double(tally.bytes) / options.seconds / 1e6)),"#
                + #""missing":\#(tally.missing),"repeated":\#(tally.repeated),"disordered":\#(tally.disordered),"ended":\#(ended),"#
                + #""p50Ms":\#(delay(0.5)),"p99Ms":\#(delay(0.99)),"cpuSecondsPerMillion":\#(million > 0 ? seconds / million : 0),"#
                + #""cores":\#(seconds / options.seconds),"kibPerReader":\#(Double(after.kibibytes) / Double(options.readers)),"#
                + #""kibGrownPerReader":\#(Double(after.kibibytes - empty.kibibytes) / Double(options.readers))}"#)
    }
}

/// A process's processor time and resident memory so far.
struct Usage {
    var seconds = 0.0
    var kibibytes = 0

    init(_ pid: Int32?) {
        guard let pid else { return }
        let fields = Self.text("/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        if fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) {
            seconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        }
        let pages = Self.text("/proc/\(pid)/statm").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        kibibytes = pages * Int(getpagesize()) / 1024
    }

    private static func text(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = fread(&buffer, 1, buffer.count - 1, file)
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
