import FeedCore
import GatewayTestSupport
import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import FuturesFeed

@Suite(.serialized, .timeLimit(.minutes(2)))
struct ConnectionTests {
    /// Runs `body` with an open connection and the server's end of it.
    static func withOpen(
        limits: WebSocketLimits = WebSocketLimits(), recorder: Recorder = Recorder(), receiveBuffer: Int? = nil,
        _ body: (WebSocketConnection, RawPeer, Recorder) async throws -> Void
    ) async throws {
        try await RawServer.with(receiveBuffer: receiveBuffer) { server in
            let opening = openWebSocket(to: server, recorder, limits: limits)
            let peer = try await server.accept()
            try await peer.upgrade()
            try await body(try await opening.get(), peer, recorder)
        }
    }

    @Test(arguments: [0, 125, 126, 65_535, 65_536, 1_000_000])
    func messagesAreMaskedAndWhole(size: Int) async throws {
        try await Self.withOpen { connection, peer, _ async throws in
            connection.send(text: String(repeating: "t", count: size))
            connection.send(binary: [UInt8](repeating: 0xB0, count: size))
            #expect(try await peer.readFrame() == .sent(1, [UInt8](repeating: UInt8(ascii: "t"), count: size)))
            #expect(try await peer.readFrame() == .sent(2, [UInt8](repeating: 0xB0, count: size)))
        }
    }

    @Test func everyFrameHasAMaskOfItsOwn() async throws {
        try await Self.withOpen { connection, peer, _ async throws in
            for _ in 0..<100 { connection.ping() }
            var masks: Set<[UInt8]> = []
            for _ in 0..<100 {
                let ping = try await peer.readFrame()
                #expect(ping == .sent(9))
                masks.insert(ping.mask)
            }
            #expect(masks.count > 95)
        }
    }

    @Test func callsFromManyThreadsAllLeaveAsWholeFrames() async throws {
        try await Self.withOpen { connection, peer, _ async throws in
            await withDiscardingTaskGroup { group in
                for writer in 0..<8 { group.addTask { for count in 0..<50 { connection.send(text: "\(writer) \(count)") } } }
            }
            var next = [Int](repeating: 0, count: 8)
            for _ in 0..<400 {
                let words = String(decoding: try await peer.readFrame().payload, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
                #expect(words[1] == next[words[0]])
                next[words[0]] += 1
            }
        }
    }

    @Test func whatCompletesNoMessageIsHeardPongsIncluded() async throws {
        try await Self.withOpen { _, peer, recorder async throws in
            peer.write(frame(10) + frame(9) + text("a", fin: false) + frame(0, [98]) + frame(2))
            #expect(try await recorder.events.next() == .text("ab"))
            #expect(try await recorder.events.next() == .binary([]))
            #expect(recorder.frames == 3)
        }
    }

    @Test func aMessageOfOneFrameIsASliceOfTheReadBuffer() async throws {
        let slices = Mailbox<Bool>()
        let recorder = Recorder { _, text in slices.post(text.storageCapacity > text.readableBytes && text.readableBytes > 0) }
        try await Self.withOpen(recorder: recorder) { _, peer, _ async throws in
            peer.write(text(String(repeating: "x", count: 500)))
            #expect(try await slices.next())
        }
    }

    @Test func messagesOfOneReadWereReceivedTogetherHoweverLongTheFirstTakes() async throws {
        let times = Mailbox<Instant>()
        let recorder = Recorder { connection, _ in
            times.post(connection.readAt)
            usleep(20_000)
        }
        let began = Instant.current
        try await Self.withOpen(recorder: recorder) { _, peer, _ async throws in
            peer.write(text("first") + text("second"))
            let (first, second) = (try await times.next(), try await times.next())
            #expect(began < first && first == second)
            peer.write(text("third"))
            #expect(try await times.next() > second)
        }
    }

    @Test func closeShakesHandsAndDeliversNothingMeanwhile() async throws {
        try await Self.withOpen { connection, peer, recorder async throws in
            connection.close(code: 1001, reason: "renewing")
            connection.close(code: 1000, reason: "again")
            connection.send(text: "too late")
            connection.ping()
            let sent = try await peer.readFrame()
            #expect(sent == .sent(8, [3, 0xE9] + Array("renewing".utf8)))
            peer.write(text("too late") + frame(9, [1]) + frame(3) + close(1001, "bye"))
            #expect(try await recorder.events.next() == .closed(code: 1001, reason: "bye", error: nil))
            peer.close()
            #expect(try await peer.readToEnd().isEmpty)
            #expect(recorder.events.waiting.isEmpty)
        }
    }

    @Test func anUnansweredCloseIsCut() async throws {
        var limits = WebSocketLimits()
        limits.closeTimeout = .milliseconds(100)
        try await Self.withOpen(limits: limits) { connection, peer, recorder async throws in
            connection.close(code: 1000, reason: "")
            #expect(try await peer.readFrame() == .sent(8, [3, 0xE8]))
            #expect(try await recorder.events.next() == .closed(code: nil, reason: "", error: .timedOut))
            #expect(try await peer.readToEnd().isEmpty)
        }
    }

    @Test func aServerThatClosesButKeepsTheSocketIsCut() async throws {
        var limits = WebSocketLimits()
        limits.closeTimeout = .milliseconds(100)
        try await Self.withOpen(limits: limits) { _, peer, recorder async throws in
            peer.write(close(1001, "restart"))
            #expect(try await recorder.events.next() == .closed(code: 1001, reason: "restart", error: nil))
            #expect(try await peer.readFrame().closeCode == 1001)
            #expect(try await peer.readToEnd().isEmpty)
        }
    }

    @Test func aServerThatGoesOnAfterItsFaultIsCut() async throws {
        var limits = WebSocketLimits()
        limits.closeTimeout = .milliseconds(100)
        try await Self.withOpen(limits: limits) { _, peer, recorder async throws in
            peer.write(frame(3) + text("more") + frame(1, announcing: 1 << 40))
            #expect(try await recorder.events.next() == .closed(code: 1002, reason: "protocolViolation", error: .protocolViolation))
            #expect(try await peer.readFrame().closeCode == 1002)
            #expect(try await peer.readToEnd().isEmpty)
            #expect(recorder.events.waiting.isEmpty)
        }
    }

    @Test func abortCutsAtOnce() async throws {
        try await Self.withOpen { connection, peer, recorder async throws in
            connection.abort()
            connection.abort()
            #expect(try await recorder.events.next() == .closed(code: nil, reason: "", error: .cancelled))
            #expect(try await peer.readToEnd().isEmpty)
            #expect(recorder.events.waiting.isEmpty)
        }
    }

    @Test func theReceiverMayCloseOrAbortWithinACall() async throws {
        let aborting = Recorder { connection, _ in connection.abort() }
        try await Self.withOpen(recorder: aborting) { _, peer, recorder async throws in
            peer.write(text("one") + text("two"))
            #expect(try await recorder.events.next() == .text("one"))
            #expect(try await recorder.events.next() == .closed(code: nil, reason: "", error: .cancelled))
            _ = try await peer.readToEnd()
            #expect(recorder.events.waiting.isEmpty)
        }
        let closing = Recorder { connection, _ in connection.close(code: 4000, reason: "enough") }
        try await Self.withOpen(recorder: closing) { _, peer, recorder async throws in
            peer.write(text("one") + text("two") + close(4000))
            #expect(try await recorder.events.next() == .text("one"))
            #expect(try await recorder.events.next() == .closed(code: 4000, reason: "", error: nil))
            #expect(try await peer.readFrame().closeCode == 4000)
        }
    }

    @Test(arguments: [true, false])
    func aLostConnectionIsReportedOnce(byReset: Bool) async throws {
        try await Self.withOpen { _, peer, recorder async throws in
            peer.write(text("a", fin: false))
            if byReset { peer.cut() } else { peer.close() }
            #expect(try await recorder.events.next() == .closed(code: nil, reason: "", error: .closed))
            #expect(recorder.events.waiting.isEmpty)
        }
    }

    @Test func smallerLimitsCountFramesAndMessages() async throws {
        var limits = WebSocketLimits()
        limits.maximumFrameBytes = 100
        limits.maximumMessageBytes = 150
        try await Self.withOpen(limits: limits) { _, peer, recorder async throws in
            peer.write(frame(2, [UInt8](repeating: 1, count: 100), fin: false) + frame(0, [UInt8](repeating: 1, count: 50)))
            #expect(try await recorder.events.next() == .binary([UInt8](repeating: 1, count: 150)))
            peer.write(frame(2, announcing: 101))
            #expect(try await recorder.events.next() == .closed(code: 1009, reason: "messageTooLarge", error: .messageTooLarge))
        }
        limits.maximumFrameBytes = 200
        try await Self.withOpen(limits: limits) { _, peer, recorder async throws in
            peer.write(frame(2, [UInt8](repeating: 1, count: 151)))
            #expect(try await recorder.events.next() == .closed(code: 1009, reason: "messageTooLarge", error: .messageTooLarge))
        }
    }

    @Test func aPeerThatDoesNotReadIsCutBeforeMemoryFills() async throws {
        var limits = WebSocketLimits()
        limits.maximumOutboundBytes = 1 << 18
        try await Self.withOpen(limits: limits, receiveBuffer: 1 << 14) { connection, peer, recorder async throws in
            try await peer.stopReading()
            let piece = [UInt8](repeating: 0, count: 1 << 18)
            for _ in 0..<64 { connection.send(binary: piece) }
            #expect(try await recorder.events.next() == .closed(code: nil, reason: "", error: .peerNotReading))
        }
    }

    @Test func aFloodOfPingsOwesOnlyTheLatestPong() async throws {
        try await Self.withOpen(receiveBuffer: 1 << 14) { connection, peer, recorder async throws in
            try await peer.stopReading()
            let piece = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<4 { connection.send(binary: piece) }
            // A busy loop may read before it sends what was given to it.
            try await connection.eventLoop.submit {}.get()
            for count in 0..<200 { peer.write(frame(9, [UInt8(count)])) }
            peer.write(text("end"))
            #expect(try await recorder.events.next() == .text("end"))
            #expect(recorder.frames == 200)
            try await peer.startReading()
            for _ in 0..<4 { #expect(try await peer.readFrame().payload.count == 1 << 20) }
            #expect(try await peer.readFrame() == .sent(10, [199]))
            connection.ping()
            #expect(try await peer.readFrame() == .sent(9))
        }
    }

    @Test func nothingListeningIsConnectFailed() async throws {
        let server = try await RawServer.start()
        await server.stop()
        let opening = WebSocketConnection.connect(
            to: "ws://127.0.0.1:\(server.port)", on: MultiThreadedEventLoopGroup.singleton.any(), receiver: Recorder())
        let error = await #expect(throws: TransportError.self) { try await opening.get() }
        #expect(error?.code == .connectFailed)
    }

    @Test func aServerThatNeverAnswersTimesOutAndNoSocketStays() async throws {
        try await RawServer.with { server in
            var limits = WebSocketLimits()
            limits.connectTimeout = .seconds(1)
            let opening = openWebSocket(to: server, Recorder(), limits: limits)
            let peer = try await server.accept()
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .timedOut)
            _ = try await peer.readToEnd()
        }
    }

    @Test func aCancelledAttemptLeavesNoSocket() async throws {
        try await RawServer.with { server in
            let cancellation = ConnectCancellation()
            let opening = openWebSocket(to: server, Recorder(), cancellation: cancellation)
            let peer = try await server.accept()
            _ = try await peer.readHead()
            cancellation.cancel()
            let error = await #expect(throws: TransportError.self) { try await opening.get() }
            #expect(error?.code == .cancelled)
            _ = try await peer.readToEnd()

            let late = openWebSocket(to: server, Recorder(), cancellation: cancellation)
            let again = await #expect(throws: TransportError.self) { try await late.get() }
            #expect(again?.code == .cancelled)
        }
    }

    @Test func cancellingAfterTheUpgradeDoesNothing() async throws {
        try await RawServer.with { server in
            let cancellation = ConnectCancellation()
            let recorder = Recorder()
            let opening = openWebSocket(to: server, recorder, cancellation: cancellation)
            let peer = try await server.accept()
            try await peer.upgrade()
            _ = try await opening.get()
            cancellation.cancel()
            peer.write(text("still here"))
            #expect(try await recorder.events.next() == .text("still here"))
        }
    }

    @Test func aNameWithTwoAddressesAndAnIPv6LiteralConnect() async throws {
        try await RawServer.with { server in
            let opening = openWebSocket(to: server, Recorder(), host: "localhost")
            let peer = try await server.accept()
            let request = try await peer.upgrade()
            #expect(header("Host", in: request) == "localhost:\(server.port)")
            _ = try await opening.get()
        }
        try await RawServer.with(host: "::1") { server in
            let opening = openWebSocket(to: server, Recorder(), host: "[::1]")
            let peer = try await server.accept()
            let request = try await peer.upgrade()
            #expect(header("Host", in: request) == "[::1]:\(server.port)")
            _ = try await opening.get()
        }
    }

    @Test func theReceiverIsLetGoAfterTheClose() async throws {
        weak var released: Recorder?
        try await RawServer.with { server in
            let recorder = Recorder()
            released = recorder
            let opening = openWebSocket(to: server, recorder)
            let peer = try await server.accept()
            try await peer.upgrade()
            let connection = try await opening.get()
            connection.abort()
            _ = try await recorder.events.next()
            _ = try await peer.readToEnd()
            try await connection.eventLoop.submit {}.get()
        }
        #expect(released == nil)
    }
}
