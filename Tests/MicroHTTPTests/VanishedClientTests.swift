import MicroHTTP
import Testing

extension MicroHTTPTests {
    @Suite struct VanishedClients {
        @Test(arguments: Wire.allCases) func aClientThatAnswersNothingAnyMoreIsGivenUp(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer, patience: .seconds(2))
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let (gone, silent, full) = (
                    try wire.client(port: port), try wire.client(port: port), try wire.client(port: port, receiveBuffer: 4096)
                )
                let streams = try [gone, silent, full].map { client in
                    client.get("/events")
                    let stream = try #require(writer.nextOpened())
                    _ = client.receive(until: "\r\n\r\n")
                    return stream
                }
                try gone.vanish()
                // The others answer: one has nothing to answer to, one says that it has no room.
                #expect(writer.onLoop(loop) { streams[0].write("data: 1\n\n") } == 9)
                #expect(writer.onLoop(loop) { streams[2].write(String(repeating: ":\n", count: 10_000)) } == 20_000)
                let closed = try #require(writer.nextClosed())
                #expect(closed.stream == streams[0])
                #expect(writer.events.next(within: 4) == nil)
            }
        }
    }
}
