import MicroHTTP
import Testing

extension MicroHTTPTests {
    /// How streams end with their loop or server.
    @Suite struct StreamStops {
        /// A server that the test stops, with its port.
        private func serve(_ loop: EventStreamLoop, _ wire: Wire) throws -> (HTTPServer, UInt16) {
            var router = Router()
            router.onStream("/events", loop)
            let server = HTTPServer(configuration: try wire.configuration, router: router)
            return (server, try server.start())
        }

        private func open(_ count: Int, _ wire: Wire, _ port: UInt16) throws -> [RawClient] {
            let clients = try (0..<count).map { _ in try wire.client(port: port) }
            for client in clients { client.get("/events") }
            return clients
        }

        @Test(arguments: Wire.allCases) func stopEndsAHundredStreamsInOrder(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            let (server, port) = try serve(loop, wire)
            let clients = try open(100, wire, port)
            #expect(writer.events.next(100).count == 100)
            let start = ContinuousClock.now
            await server.stop(grace: .seconds(5))
            print("stop with 100 streams took \(ContinuousClock.now - start)")
            #expect(ContinuousClock.now - start < .seconds(3))
            for client in clients {
                #expect(client.receive(until: "\r\n\r\n") != nil)
                #expect(client.end() == 0)
            }
            for _ in 0..<100 { #expect(writer.nextClosed() != nil) }
            #expect(server.connectionCount == 0)
        }

        @Test(arguments: Wire.allCases) func aLoopMayStopBeforeItsServer(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let clients = try open(10, wire, port)
                #expect(writer.events.next(10).count == 10)
                loop.stop()
                for client in clients {
                    #expect(client.receive(until: "\r\n\r\n") != nil)
                    #expect(client.end() == 0)
                }
                let late = try wire.client(port: port)
                late.get("/events")
                #expect(late.receive(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 200") == true)
                #expect(late.end() == 0)
                let asking = try wire.client(port: port)
                asking.get("/")
                expectStatus(200, asking.response())
            }
        }

        /// Clients come and go while the server stops.
        @Test(arguments: Wire.allCases) func stopInTheMiddleOfOpeningsNeitherHangsNorCrashes(_ wire: Wire) async throws {
            for round in 0..<20 {
                let writer = RecordingWriter()
                let loop = EventStreamLoop(writer: writer)
                defer { loop.stop() }
                let (server, port) = try serve(loop, wire)
                let clients = try open(50, wire, port)
                if round % 2 == 0 { _ = writer.nextOpened() }
                await server.stop(grace: .seconds(2))
                for client in clients { _ = client.end() }
                #expect(server.connectionCount == 0)
            }
        }
    }
}
