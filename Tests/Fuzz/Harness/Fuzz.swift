import Glibc

#if LIBFUZZER
    import CFuzzer
#endif

/// `fuzz TARGET FILE…` tries the inputs in these files once. Built with libFuzzer, `fuzz TARGET [libFuzzer's arguments]` tries inputs until somebody
/// stops it. An input that breaks a promise ends it. Without arguments it prints the targets.
@main
enum Fuzz {
    static let targets: [String: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt] = [
        "agents": { attempt(AgentTarget.run, $0, $1) },
        "json": { attempt(JSONTarget.run, $0, $1) },
        "venue": { attempt(VenueTarget.run, $0, $1) },
        "equities": { attempt(UpstreamTargets.equities, $0, $1) },
        "messages": { attempt(UpstreamTargets.messages, $0, $1) },
        "framing": { attempt(UpstreamTargets.framing, $0, $1) },
        "names": { attempt(TextTargets.names, $0, $1) },
        "requests": { attempt(TextTargets.requests, $0, $1) },
        "events": { attempt(EventTargets.parser, $0, $1) },
        "mirror": { attempt(MirrorTarget.run, $0, $1) },
        "log": { attempt(LogTarget.run, $0, $1) },
        "nats": { attempt(NATSTarget.run, $0, $1) },
        "sockets": { attempt(SocketsTarget.run, $0, $1) },
        "routes": { attempt(RoutesTarget.run, $0, $1) },
        "encoder": { attempt(EventTargets.encoder, $0, $1) },
    ]

    static func main() {
        guard CommandLine.arguments.count > 1, let target = targets[CommandLine.arguments[1]] else {
            print(targets.keys.sorted().joined(separator: "\n"))
            return
        }
        #if LIBFUZZER
            var arguments = ([CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(2)).map { strdup($0) } + [nil]
            var count = CInt(arguments.count - 1)
            arguments.withUnsafeMutableBufferPointer { buffer in
                var start = buffer.baseAddress
                exit(LLVMFuzzerRunDriver(&count, &start, target))
            }
        #else
            for path in CommandLine.arguments.dropFirst(2) {
                let input = contents(of: path)
                _ = input.withUnsafeBufferPointer { target($0.baseAddress, $0.count) }
            }
        #endif
    }

    #if !LIBFUZZER
        private static func contents(of path: String) -> [UInt8] {
            guard let file = fopen(path, "r") else { fatalError("\(path) cannot be read") }
            defer { fclose(file) }
            return [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in count = fread(buffer.baseAddress, 1, buffer.count, file) }
        }
    #endif

    private static func attempt(_ run: (UnsafeBufferPointer<UInt8>) -> Void, _ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        run(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
        return 0
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The first byte, to choose by, and the rest.
    var choice: (UInt8, UnsafeBufferPointer<UInt8>) { (first ?? 0, UnsafeBufferPointer(rebasing: dropFirst())) }
}

/// What has to hold whatever the input.
func promise(_ holds: Bool, _ words: @autoclosure () -> String) {
    if !holds { fatalError("broken: \(words())") }
}
