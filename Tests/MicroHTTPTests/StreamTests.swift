import Dispatch
import Glibc
import MicroHTTP
import Synchronization
import Testing

extension MicroHTTPTests {
    @Suite struct Streams {
        @Test func aStreamSendsItsHeadAtOnceAndThenWhatIsWritten() async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try RawClient(port: port)
                let start = ContinuousClock.now
                client.get("/events?context=7")
                let head = try #require(client.receive(until: "\r\n\r\n"))
                let elapsed = ContinuousClock.now - start
                print("head after \(elapsed)")
                #expect(elapsed < .milliseconds(150))
                #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(head.contains("Connection: close\r\n"))
                #expect(!head.lowercased().contains("transfer-encoding") && !head.lowercased().contains("content-length"))
                guard case .opened(let stream, context: 7)? = writer.events.next() else {
                    Issue.record("no stream opened")
                    return
                }
                #expect(writer.onLoop(loop) { stream.write("data: 1\n\n") } == 9)
                #expect(client.receive(until: "\n\n") == "data: 1\n\n")
                writer.onLoop(loop) { stream.finish() }
                #expect(client.end() == 0)
                #expect(writer.onLoop(loop) { stream.write("late") } == -1)
            }
        }
    }
}
