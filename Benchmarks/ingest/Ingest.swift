import FeedCore
import Glibc
import Rings
import Workload

/// Measures what one core ingests.
///
/// - `ingest figures` prints tables.
/// - `ingest round KIND STAGE ROUNDS` is for a tool that counts instructions.
/// - `ingest frames KIND` prints frames, one a line, and `ingest whole KIND` the nanoseconds that one takes, to compare with programs that read the same.
/// - `ingest events` prints the events of all kinds, to compare those of two versions.
/// - `ingest mirror` prints what an edge's mirror takes for the same events, as the log delivers them.
@main
enum IngestCommand {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "round":
            let words = Array(arguments.dropFirst())
            guard words.count == 3, FrameKind(rawValue: words[0]) != nil || words[0] == "mix", let stage = Stage(rawValue: words[1]),
                let rounds = Int(words[2])
            else { return print("ingest round \(FrameKind.allCases.map(\.rawValue) + ["mix"]) \(Stage.allCases.map(\.rawValue)) ROUNDS") }
            let workload = named(words[0])
            print(workload.frames.count, counted(workload, stage, rounds: rounds))
        case "frames": named(arguments.dropFirst().first).frames.forEach { print(String(decoding: $0, as: UTF8.self)) }
        case "events": events()
        case "whole": print(nanoseconds(named(arguments.dropFirst().first), .whole))
        case "growth": growth()
        case "sweep": sweep()
        case "mirror": mirror()
        case "memory": memory(books: arguments.dropFirst().first.flatMap { Int($0) } ?? 200)
        default:
            stages()
            mix()
        }
    }

    /// The frames of a kind, or of a busy market.
    static func named(_ name: String?) -> Workload {
        let workload = name.flatMap { FrameKind(rawValue: $0) }.map { Self.workload($0) } ?? mixed
        guard workload.isSound else { fatalError("the frames of \(name ?? "the mix") are not what they should be") }
        return workload
    }

    /// Prints the events that the frames become, to compare those of two versions of the gateway.
    static func events() {
        for workload in FrameKind.allCases.map(workload) + [mixed] {
            for words in workload.published.compactMap(EventEncoder.words) { print(String(decoding: words.text, as: UTF8.self)) }
        }
    }

    static var mixed: Workload { Workload(mixOf: 5000) }

    static func workload(_ kind: FrameKind) -> Workload { Workload(kind, frames: kind == .markPrices ? 20 : kind == .depth ? 500 : 2000) }

    /// Nanoseconds per frame.
    static func nanoseconds(_ workload: Workload, _ stage: Stage, rounds: Int = 15) -> Int {
        median(rounds: rounds) { precondition(workload.run(stage) > 0) } / workload.frames.count
    }

    /// Nanoseconds of processor time: the median of rounds, after one that warms.
    static func median(rounds: Int = 15, _ body: () -> Void) -> Int {
        var times: [Int] = []
        for round in 0...rounds {
            let begin = clock()
            body()
            if round > 0 { times.append(clock() - begin) }
        }
        return times.sorted()[times.count / 2]
    }

    /// The thread's own processor time: what others take of a shared machine does not count.
    static func clock() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// What every event and every reader costs besides the call into the kernel.
    static func sweep() {
        print(
            "| readers | streams | of each reader | append, ns an event | sweep, ns a reader and sweep | sweep, ns an event and reader |\n|---|---|---|---|---|---|"
        )
        for (readers, streams, each) in [(1000, 1, 1), (10_000, 1, 1), (1000, 200, 20), (1000, 200, 200), (1000, 2000, 20)] {
            let sweep = Sweep(streams: streams, readers: readers, each: each)
            var (appended, swept): ([Int], [Int]) = ([], [])
            for _ in 0...15 {
                let begin = clock()
                sweep.append()
                let middle = clock()
                precondition(sweep.sweep() > 0)
                appended.append(middle - begin)
                swept.append(clock() - middle)
            }
            let (append, found) = (appended.sorted()[8], swept.sorted()[8])
            print("| \(readers) | \(streams) | \(each) | \(append / streams) | \(found / readers) | \(found / readers / each) |")
        }
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
        let workload = named("mix")
        let time = nanoseconds(workload, .whole)
        print(
            "\nA mix of 60 % book tickers, 30 % depth updates, 10 % mark prices of 100 symbols: \(time) ns a frame, \(1_000_000_000 / max(1, time)) frames/s"
        )
    }

    static func growth() {
        print("| streams | whole, ns a book ticker | ns to subscribe, a stream | ns to look at all deadlines |\n|---|---|---|---|")
        for streams in [10, 200, 2000] {
            let workload = Workload(.bookTicker, streams: streams, frames: 10_000)
            guard workload.isSound else { return print("| \(streams) | is not what it should be |") }
            let names = workload.streamNames
            let subscribing = median { _ = Ingest(names, first: []) { _ in nil } } / streams
            var house = workload.start
            let deadline = median { for _ in 0..<100 { house.passDeadlines() } } / 100
            print("| \(streams) | \(nanoseconds(workload, .whole)) | \(subscribing) | \(deadline) |")
        }
    }

    static func memory(books count: Int) {
        let complete = FrameText(symbols: count)
        var text = complete
        let first = complete.symbols.indices.map { text.depth($0) }
        let before = residentBytes()
        let house = Workload.books(complete, first: first, text: &text)
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

func counted(_ workload: Workload, _ stage: Stage, rounds: Int) -> Int {
    var made = workload.run(stage)
    for _ in 0..<rounds { countedRound { made += workload.run(stage) } }
    return made
}
