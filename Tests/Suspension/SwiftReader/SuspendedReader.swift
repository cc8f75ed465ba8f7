import FuturesGatewayClient

#if canImport(Glibc)
    import Glibc
#endif

/// An app for `suspensions`: reads streams of a gateway, and prints the state and the newest id of each every 5 ms. It reads `suspend` and `resume`
/// from its standard input.
///
///     suspended-reader URL STREAM…
@main struct SuspendedReader {
    /// Keeps the streams subscribed.
    private final class App: FuturesFeedObserving {
        func didFetch(with content: FuturesServiceFeedContent) {}
        func didUpdate(with content: FuturesServiceFeedContent) {}
        func didRecover(streamName: FuturesServiceStreamName, result: Swift.Result<Void, StreamSubscriberRecoverError>) {}
        func didFail(streamName: FuturesServiceStreamName, with error: any Error) {}
    }

    static func main() {
        let streams = CommandLine.arguments.dropFirst(2).compactMap { FuturesServiceStreamName($0) }
        let service = FuturesFeedService(gateway: Gateway(CommandLine.arguments[1]))
        let app = App()
        service.subscribe(streamNames: streams, with: app)
        Task.detached { await printSamples(of: streams, from: service) }
        while let line = readLine() {
            if line == "suspend" { service.suspend() }
            if line == "resume" { service.resume() }
            say("done \(line)")
        }
        withExtendedLifetime(app) {}
    }

    private static func printSamples(of streams: [FuturesServiceStreamName], from service: FuturesFeedService) async {
        while true {
            for stream in streams {
                // The time comes first, so that no state is older than its time.
                let now = milliseconds()
                let state = service.state(of: stream)?.rawValue ?? "none"
                let id = service.content(of: stream)?.id.description ?? "-"
                say("\(now) \(stream) \(state) \(id)")
            }
            // An app may draw at any moment, also between two events. So the states are sampled, and no event can be awaited.
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Prints a line at once. `fflush` would wait for the lock of the standard input, which `readLine` has.
    private static func say(_ line: String) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    /// Since 1970 UTC.
    private static func milliseconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) * 1000 + Double(now.tv_nsec) / 1_000_000
    }
}
