import Dispatch
import GatewayTestSupport
import Glibc
import MicroHTTP
import Synchronization
import Testing

/// The two ways of a stream's bytes.
enum Wire: CaseIterable {
    case clear, encrypted

    var configuration: HTTPServerConfiguration {
        get throws { HTTPServerConfiguration(identity: self == .encrypted ? try Self.identity : nil) }
    }

    static var identity: TLSIdentity {
        get throws {
            let good = TestCertificates.good
            return try TLSIdentity(certificateChain: Array(good.certificate.utf8), privateKey: Array(good.key.utf8))
        }
    }

    func client(port: UInt16, receiveBuffer: Int32? = nil, source: String? = nil) throws -> RawClient {
        try RawClient(port: port, receiveBuffer: receiveBuffer, source: source, cipher: self == .encrypted ? "NORMAL" : nil)
    }
}

extension MicroHTTPTests {
    @Suite struct Streams {
        @Test(arguments: Wire.allCases) func aStreamSendsItsHeadAtOnceAndThenWhatIsWritten(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try wire.client(port: port)
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

        /// The client's bytes for a closed socket would reset it. A client whose write fails may never read the last frame.
        @Test(arguments: Wire.allCases) func aSocketThatEndsAcceptsItsClientsLastBytes(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onSocket("/ws", loop) }) { _, port in
                let client = try wire.client(port: port)
                #expect(client.openSocket("/ws"))
                let stream = try #require(writer.nextOpened())
                _ = writer.onLoop(loop) {
                    stream.write("the last frame")
                    stream.finish()
                }
                for _ in 0..<3 { #expect(client.send("one more message")) }
                #expect(client.receive(until: "frame") == "the last frame")
                #expect(client.end() == 0)
            }
        }

        /// The loop reads slower than the client sends, so it would never reach the end.
        @Test func aSocketThatSendsWithoutEndTakesTurnsWithTheOthers() async throws {
            let writer = RecordingWriter(whenReceived: { stream, bytes in
                if bytes.first == UInt8(ascii: "?") { stream.write("an answer") } else { usleep(2_000) }
            })
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(routes: { $0.onSocket("/ws", loop) }) { _, port in
                let (flood, other) = (try RawClient(port: port), try RawClient(port: port))
                #expect(flood.openSocket("/ws") && other.openSocket("/ws"))
                let isOver = SharedFlag()
                let descriptor = flood.descriptor
                let sender = Task.detached {
                    let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 18)
                    let deadline = ContinuousClock.now + .seconds(5)
                    while !isOver.value.load(ordering: .relaxed), ContinuousClock.now < deadline {
                        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                    }
                }
                usleep(100_000)
                let asked = ContinuousClock.now
                other.send("?")
                #expect(other.receive(until: "answer") == "an answer")
                #expect(ContinuousClock.now - asked < .seconds(2), "the flood takes five seconds")
                isOver.value.store(true, ordering: .relaxed)
                await sender.value
                withExtendedLifetime(flood) {}
            }
        }

        @Test(arguments: Wire.allCases) func headOnAStreamRouteOpensNothing(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try wire.client(port: port)
                client.send("HEAD /events?context=5 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let answer = try #require(client.response(toHead: true))
                #expect(answer.status == 200)
                #expect(answer.field("content-type") == "text/event-stream")
                #expect(client.end() == 0)
                guard case .notOpened(context: 5)? = writer.events.next() else {
                    Issue.record("the context was not given back")
                    return
                }
            }
        }

        @Test(arguments: Wire.allCases) func parkedStreamsUseNoProcessorTime(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let clients = try (0..<200).map { _ in
                    let client = try wire.client(port: port)
                    client.get("/events")
                    return client
                }
                #expect(writer.events.next(200).count == 200)
                let (before, ticks) = (processorTime(), writer.ticks.load(ordering: .relaxed))
                #expect(writer.events.next(within: 2) == nil)
                let used = processorTime() - before
                print("200 parked streams used \(used) of processor time in 2 s, \(writer.ticks.load(ordering: .relaxed) - ticks) ticks")
                #expect(used < .milliseconds(100))
                #expect((5...10).contains(writer.ticks.load(ordering: .relaxed) - ticks))
                for client in clients { client.send("") }
            }
        }

        @Test(arguments: Wire.allCases) func aSuspendedStreamNoticesItsClientLeaving(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { server, port in
                var slowest = Duration.zero
                for round in 0..<50 {
                    var client: RawClient? = try wire.client(port: port)
                    client?.get("/events")
                    let stream = try #require(writer.nextOpened())
                    if round % 3 == 1 {
                        // A reset instead of an orderly end.
                        var reset = linger(l_onoff: 1, l_linger: 0)
                        setsockopt(client?.descriptor ?? -1, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
                    } else if round % 3 == 2 {
                        client?.send("GET /unread HTTP/1.1\r\n\r\n")
                    }
                    let start = ContinuousClock.now
                    client = nil
                    let closed = try #require(writer.nextClosed())
                    #expect(closed.stream == stream)
                    slowest = max(slowest, closed.at - start)
                }
                print("a gone client was noticed within \(slowest) at worst")
                #expect(slowest < .milliseconds(500))
                let deadline = ContinuousClock.now + .seconds(5)
                while server.connectionCount > 0, .now < deadline { await Task.yield() }
                #expect(server.connectionCount == 0)
            }
        }

        @Test(arguments: Wire.allCases) func aReaderThatStopsGetsEverythingOnceItReadsAgain(_ wire: Wire) async throws {
            let pattern = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let total = pattern.count * 40
            let written = Atomic<Int>(0)
            let fill: @Sendable (EventStream) -> Void = { stream in
                var offset = written.load(ordering: .relaxed)
                while offset < total {
                    let rest = Array(pattern[(offset % pattern.count)...])
                    let count = stream.write(rest)
                    guard count >= 0 else { return }
                    offset += count
                    written.store(offset, ordering: .relaxed)
                    if count < rest.count { return }
                }
                stream.finish()
            }
            let writer = RecordingWriter(whenOpened: fill, whenWritable: fill)
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try wire.client(port: port, receiveBuffer: 16384)
                client.get("/events")
                _ = try #require(writer.nextOpened())
                #expect(writer.onLoop(loop) { written.load(ordering: .relaxed) }.map { $0 < total } == true, "the kernel took less than all")
                _ = client.receive(until: "\r\n\r\n")
                var received = 0
                var matches = true
                while let bytes = client.receive(32768) {
                    for byte in bytes {
                        matches = matches && byte == pattern[received % pattern.count]
                        received += 1
                    }
                }
                #expect(matches)
                #expect(received == total)
                var writable = 0
                while case .writable? = writer.events.next(within: 0) { writable += 1 }
                print("\(total) bytes in \(writable + 1) fills")
                #expect(writable > 2)
            }
        }

        @Test(arguments: Wire.allCases) func aStoppedReaderDelaysNoOther(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let stopped = try wire.client(port: port, receiveBuffer: 4096)
                stopped.get("/events")
                let stuck = try #require(writer.nextOpened())
                let reader = try wire.client(port: port)
                reader.get("/events")
                let live = try #require(writer.nextOpened())
                _ = reader.receive(until: "\r\n\r\n")
                let block = [UInt8](repeating: UInt8(ascii: "x"), count: 65536)
                var full = false
                for _ in 0..<100 where !full { full = writer.onLoop(loop) { stuck.write(block) } == 0 }
                #expect(full)
                var slowest = Duration.zero
                for number in 0..<500 {
                    let start = ContinuousClock.now
                    let event = "data: \(number)\n\n"
                    let count = writer.onLoop(loop) {
                        stuck.write(block)
                        return live.write(event)
                    }
                    #expect(count == event.utf8.count)
                    #expect(reader.receive(until: "\n\n") == event)
                    slowest = max(slowest, ContinuousClock.now - start)
                }
                print("slowest round trip beside a stopped reader: \(slowest)")
                #expect(slowest < .milliseconds(500))
                writer.onLoop(loop) { stuck.abort() }
                #expect(stopped.end() == ECONNRESET)
            }
        }

        @Test(arguments: Wire.allCases) func aStreamThatItsWriterGivesUpIsCutOnceAndToldOnce(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try wire.client(port: port)
                client.get("/events")
                let stream = try #require(writer.nextOpened())
                _ = client.receive(until: "\r\n\r\n")
                let count = writer.onLoop(loop) {
                    stream.fail()
                    stream.fail()
                    return stream.write("data: too late\n\n")
                }
                #expect(count == -1)
                #expect(writer.nextClosed()?.stream == stream)
                #expect(client.end() == ECONNRESET)
                #expect(writer.nextClosed(within: 0.2) == nil)
            }
        }

        @Test(arguments: Wire.allCases) func thousandsOfVectorsGoOutInOneWrite(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { _, port in
                let client = try wire.client(port: port)
                client.get("/events")
                let stream = try #require(writer.nextOpened())
                _ = client.receive(until: "\r\n\r\n")
                let count = writer.onLoop(loop) {
                    let bytes = Array("0123456789\n".utf8)
                    return bytes.withUnsafeBytes { bytes in
                        let vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                        return [iovec](repeating: vector, count: 2000).withUnsafeBufferPointer { stream.write($0) }
                    }
                }
                #expect(count == 2000 * 11, "beyond the kernel's limit of vectors")
                #expect(writer.onLoop(loop) { stream.write(UnsafeBufferPointer(start: nil, count: 0)) } == 0)
            }
        }

        @Test func wakesThatComeTogetherLeadToOneCall() async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            loop.start()
            let entered = Inbox<Void>()
            let release = DispatchSemaphore(value: 0)
            let blocker = DispatchQueue(label: "blocker")
            blocker.async {
                writer.onLoop(loop) {
                    entered.put(()); release.wait()
                }
            }
            _ = entered.next()
            for _ in 0..<1000 { loop.waker.wake() }
            release.signal()
            guard case .woke? = writer.events.next() else {
                Issue.record("no wake")
                return
            }
            #expect(writer.events.next(within: 0.2) == nil)
            loop.stop()
            loop.stop()
        }

        @Test(arguments: Wire.allCases) func fiveThousandStreamsLeakNothing(_ wire: Wire) async throws {
            let writer = RecordingWriter()
            let loop = EventStreamLoop(writer: writer)
            defer { loop.stop() }
            try await withServer(wire.configuration, routes: { $0.onStream("/events", loop) }) { server, port in
                let before = openDescriptors()
                var slots: [Int] = []
                for round in 0..<2 {
                    var clients: [RawClient] = []
                    for number in 0..<2500 {
                        let client = try wire.client(port: port, source: "127.0.0.\(1 + number % 4)")
                        client.get("/events")
                        clients.append(client)
                    }
                    let opened = writer.events.next(2500)
                    slots = opened.compactMap { if case .opened(let stream, _) = $0 { stream.slot } else { nil } }
                    #expect(slots.count == 2500)
                    #expect(server.connectionCount == 2500)
                    if round == 0 {
                        clients.removeAll()
                        #expect(writer.events.next(2500).count == 2500)
                    } else {
                        for event in opened { if case .opened(let stream, _) = event { writer.onLoop(loop) { stream.finish() } } }
                        for client in clients { #expect(client.end() == 0) }
                        clients.removeAll()
                    }
                    let deadline = ContinuousClock.now + .seconds(10)
                    while server.connectionCount > 0, .now < deadline { await Task.yield() }
                    #expect(server.connectionCount == 0)
                }
                #expect(slots.max() ?? 0 < 2500, "slots are reused")
                let deadline = ContinuousClock.now + .seconds(5)
                while openDescriptors() > before + 2, .now < deadline { await Task.yield() }
                print("descriptors before \(before), after \(openDescriptors())")
                #expect(openDescriptors() <= before + 2)
            }
        }
    }
}
