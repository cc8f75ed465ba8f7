import Glibc
import MicroHTTP
import Testing

extension MicroHTTPTests {
    /// A loop's writer is called by one thread at a time, which need not be the loop's.
    @Suite struct Turns {
        @Test(arguments: Wire.allCases) func anotherThreadTakesTheTurnOfALoopThatSleeps(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try wire.client(port: port)
                client.get("/events")
                _ = try #require(client.receive(until: "\r\n\r\n"))
                let stream = try #require(writer.nextOpened())
                var served: (thread: UInt, count: Int)?
                let deadline = ContinuousClock.now + .seconds(10)
                while served == nil, ContinuousClock.now < deadline {
                    served = writer.onThisThread(loop) { (pthread_self(), stream.write("data: 1\n\n")) }
                }
                let (thread, count) = try #require(served)
                #expect(thread == pthread_self() && count == 9)
                #expect(client.receive(until: "\n\n") == "data: 1\n\n")
                #expect(writer.onLoop(loop) { stream.write("data: 2\n\n") } == 9)
                #expect(client.receive(until: "\n\n") == "data: 2\n\n")
                writer.onLoop(loop) { stream.finish() }
                #expect(client.end() == 0)
            }
        }

        @Test func nobodyTakesTheTurnOfALoopThatIsAtWork() async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            try await withServer(routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try RawClient(port: port)
                client.get("/events")
                _ = try #require(writer.nextOpened())
                let (begun, goOn) = (Inbox<Bool>(), Inbox<Bool>())
                writer.later(loop) {
                    begun.put(true)
                    _ = goOn.next()
                }
                #expect(begun.next() == true)
                #expect(writer.onThisThread(loop) { true } == nil)
                goOn.put(true)
                client.send("")
            }
            loop.stop()
            #expect(writer.onThisThread(loop) { true } == nil, "a loop that has stopped")
        }

        @Test func nobodyTakesTheTurnOfAWriterThatDoesNotWantIt() async throws {
            let writer = RecordingWriter(mayBeServedElsewhere: false)
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try RawClient(port: port)
                client.get("/events")
                _ = try #require(writer.nextOpened())
                for _ in 0..<100 { #expect(writer.onThisThread(loop) { true } == nil) }
                client.send("")
            }
        }
    }
}
