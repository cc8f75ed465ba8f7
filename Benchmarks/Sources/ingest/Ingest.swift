import FeedCore
import Glibc
import Workload

/// What one core ingests, told as tables: `ingest figures`, and `ingest round KIND STAGE` for a tool that counts instructions.
@main
enum IngestCommand {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "round":
            guard let kind = FrameKind(rawValue: arguments.dropFirst().first ?? ""), let stage = Stage(rawValue: arguments.last ?? "") else {
                return print("ingest round \(FrameKind.allCases.map(\.rawValue)) \(Stage.allCases.map(\.rawValue))")
            }
            let workload = workload(kind)
            guard workload.isSound else { return print("unsound") }
            print(workload.frames.count, counted(workload, stage))
        case "growth": growth()
        case "memory": memory(books: arguments.dropFirst().first.flatMap { Int($0) } ?? 200)
        default:
            stages()
            mix()
        }
    }

    static func workload(_ kind: FrameKind) -> Workload { Workload(kind, frames: kind == .markPrices ? 20 : kind == .depth ? 500 : 2000) }

    /// Nanoseconds per frame: the median of rounds, after one that warms.
    static func nanoseconds(_ workload: Workload, _ stage: Stage, rounds: Int = 15) -> Int {
        var times: [Int] = []
        for round in 0...rounds {
            let begin = clock()
            guard workload.run(stage) > 0 else { return 0 }
            if round > 0 { times.append((clock() - begin) / workload.frames.count) }
        }
        return times.sorted()[times.count / 2]
    }

    /// The thread's own processor time: what others take of a shared machine does not count.
    static func clock() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    static func stages() {
        print("| frame | bytes | decode | merge | encode | whole |\n|---|---|---|---|---|---|")
        for kind in FrameKind.allCases {
            let workload = workload(kind)
            guard workload.isSound else { return print("| \(kind.title) | is not what it should be |") }
            let bytes = workload.frames.reduce(0) { $0 + $1.count } / workload.frames.count
            let times = Stage.allCases.map { "\(nanoseconds(workload, $0))" }
            print("| \(kind.title) | \(bytes) | \(times.joined(separator: " | ")) |")
        }
    }

    static func mix() {
        let workload = Workload(mixOf: 5000)
        let time = nanoseconds(workload, .whole)
        print("\nA mix of 60 % book tickers, 30 % depth updates, 10 % mark prices of 100 symbols: \(time) ns a frame, \(1_000_000_000 / max(1, time)) frames/s")
    }

    static func growth() {
        print("| streams | ns to subscribe, a stream | whole, ns a book ticker |\n|---|---|---|")
        for streams in [10, 200, 2000] {
            let begin = clock()
            let workload = Workload(.bookTicker, streams: streams, frames: 10_000)
            let subscribed = (clock() - begin) / streams
            guard workload.isSound else { return print("| \(streams) | is not what it should be |") }
            print("| \(streams) | \(subscribed) | \(nanoseconds(workload, .whole)) |")
        }
    }

    static func memory(books count: Int) {
        var text = FrameText(symbols: count)
        let before = residentBytes()
        let house = Workload.books(of: &text)
        let after = residentBytes()
        let standing = house.core.streamNames.filter { house.core.content(of: $0)?.rows.count == 1 }.count
        print("\(standing) books of \(FrameText.depth) levels a side: \((after - before) / max(1, count)) bytes each")
    }

    static func residentBytes() -> Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [UInt8](repeating: 0, count: 128)
        let count = fread(&line, 1, line.count, file)
        let fields = String(decoding: line.prefix(count), as: UTF8.self).split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
    }
}

/// One pass, in a function of its own that a counting tool can be told to look at.
@inline(never)
func countedRound(_ pass: () -> Void) { pass() }

func counted(_ workload: Workload, _ stage: Stage) -> Int {
    var made = workload.run(stage)
    countedRound { made += workload.run(stage) }
    return made
}
