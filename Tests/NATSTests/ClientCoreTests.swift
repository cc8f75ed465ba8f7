import FeedCore
import NIOCore
import Testing

@testable import NATS

@Suite struct ClientCoreTests {
    private var core: ClientCore
    private var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    init() throws { core = try Self.core() }

    private static func core(
        _ servers: [String] = ["a", "b", "c"], credentials: Credentials = .none, version: ServerVersion? = .required
    ) throws -> ClientCore {
        var settings = ClientSettings(servers: try servers.map { try ServerAddress($0) }, name: "test", credentials: credentials)
        settings.requiredVersion = version
        return ClientCore(settings: settings, random: SplitMix64(seed: 7))
    }

    private static let info = ServerInfo(version: "2.12.8", maximumPayload: 1000)

    private mutating func step(_ input: ClientInput) -> [String] { core.step(input, now: now).map(Self.words) }

    private mutating func receive(_ message: ServerMessage) -> [String] { step(.received(link: core.link, message)) }

    /// Lets the time pass until the core's next deadline.
    private mutating func wait() throws -> [String] {
        now = max(now, try #require(core.deadline))
        return step(.deadline)
    }

    private mutating func makeReady() {
        _ = step(.start)
        if case .waiting = core.phase { _ = try? wait() }
        _ = step(.opened(link: core.link))
        _ = receive(.info(Self.info))
        _ = receive(.pong)
    }

    private static func words(_ effect: ClientEffect) -> String {
        switch effect {
        case .connect(_, let server): return "connect \(server)"
        case .secure(_, let server): return "secure \(server.host)"
        case .send(.connect): return "send CONNECT"
        case .send(let message):
            var buffer = ByteBuffer()
            message.write(into: &buffer)
            return "send \(String(buffer: buffer).split { $0.isWhitespace }.filter { !$0.hasPrefix("_INBOX") }.joined(separator: " "))"
        case .close: return "close"
        case .deliver(let message): return "deliver \(message.subscription)"
        case .answer(let id, .success(let message)): return "answer \(id) \(String(buffer: message.payload))"
        case .answer(let id, .failure(let error)): return "answer \(id) \(error.code)"
        case .connected(let info): return "connected \(info.version)"
        case .disconnected(let error): return "disconnected \(error.code)"
        case .trouble(let error): return "trouble \(error.code)"
        }
    }

    @Test mutating func aConnectionIsGreetedOnceAndThenReady() {
        let first = step(.start)
        #expect(first.count == 1 && first[0].hasPrefix("connect nats://"))
        #expect(step(.opened(link: core.link)) == [])
        #expect(receive(.info(Self.info)) == ["send CONNECT", "send PING"])
        #expect(receive(.info(Self.info)) == [], "a second CONNECT would drop all subscriptions")
        #expect(receive(.pong) == ["send SUB 1", "connected 2.12.8"])
        #expect(receive(.info(Self.info)) == [])
        #expect(receive(.ping) == ["send PONG"])
    }

    @Test mutating func subscriptionsAreMadeAnewOnTheNextConnection() throws {
        #expect(step(.subscribe(id: 5, subject: "a")) == [])
        makeReady()
        #expect(step(.subscribe(id: 6, subject: "b")) == ["send SUB b 6"])
        #expect(step(.subscribe(id: 7, subject: "c")) == ["send SUB c 7"])
        #expect(step(.unsubscribe(id: 6)) == ["send UNSUB 6"])
        #expect(step(.unsubscribe(id: 6)) == [])
        #expect(step(.closed(link: core.link, .noAnswer)) == ["close", "disconnected timedOut"])
        let again = try wait()
        #expect(again.count == 1 && again[0].hasPrefix("connect "))
        _ = step(.opened(link: core.link))
        _ = receive(.info(Self.info))
        #expect(receive(.pong) == ["send SUB 1", "send SUB a 5", "send SUB c 7", "connected 2.12.8"])
    }

    @Test mutating func requestsEndInAnAnswerATimeOutOrALostConnection() throws {
        #expect(step(.request(id: 3, NATSPublication("a"), timeout: .seconds(1))) == ["answer 3 stopped"])
        makeReady()
        let effects = core.step(.request(id: 4, NATSPublication("a"), timeout: .milliseconds(300)), now: now)
        guard case .send(.publish(let sent)) = effects.first, let inbox = sent.reply else { throw Problem("nothing is sent") }
        #expect(inbox.hasPrefix("_INBOX.") && inbox.hasSuffix(".4"))
        let answer = NATSMessage(subject: inbox, subscription: 1, payload: ByteBuffer(string: "yes"))
        #expect(receive(.message(answer)) == ["answer 4 yes"])
        #expect(receive(.message(answer)) == [], "an answer counts once")
        for id: UInt64 in 5...7 { _ = step(.request(id: id, NATSPublication("a"), timeout: .milliseconds(id == 6 ? 100 : 300))) }
        #expect(try wait() == ["answer 6 timedOut"])
        let nobody = NATSMessage(
            subject: inbox.dropLast() + "7", subscription: 1, headers: HeaderBlock(ByteBuffer(string: "NATS/1.0 503\r\n\r\n")))
        #expect(receive(.message(nobody)) == ["answer 7 noResponders"])
        #expect(step(.closed(link: core.link, .noAnswer)) == ["close", "answer 5 disconnected", "disconnected timedOut"])
        #expect(step(.request(id: 8, NATSPublication("a"), timeout: .seconds(1))) == ["answer 8 notConnected"])
    }

    @Test mutating func anAnswerOfAnybodyElseIsNobodysAnswer() {
        makeReady()
        for subject in ["_INBOX.", "", "_INBOX.x.18446744073709551616", "_INBOX.aaaaaaaaaaaaa.9"] {
            #expect(receive(.message(NATSMessage(subject: subject, subscription: 1))) == [])
        }
    }

    @Test mutating func aServerThatIsSilentIsAskedAndThenLeft() throws {
        makeReady()
        now = now + .milliseconds(900)
        #expect(receive(.ping) == ["send PONG"])
        #expect(try wait() == ["send PING"])
        now = now + .milliseconds(900)
        #expect(receive(.pong) == [])
        #expect(try wait() == ["send PING"])
        let before = now
        #expect(try wait() == ["close", "disconnected disconnected"])
        #expect(now - before == .seconds(1))
    }

    @Test mutating func allServersAreTriedBeforeTheDelayGrows() throws {
        var tried = step(.start)
        var waits: [TimeAmount] = []
        for _ in 0..<60 {
            let before = now
            let link = core.link
            #expect(step(.closed(link: link, .noAnswer)) == ["close", "trouble timedOut"])
            #expect(step(.closed(link: link, .noAnswer)) == [], "a socket ends once")
            tried += try wait()
            waits.append(now - before)
        }
        for start in stride(from: 0, to: 60, by: 3) { #expect(Set(tried[start..<start + 3]).count == 3) }
        #expect(waits.prefix(2).allSatisfy { $0 <= .milliseconds(50) })
        #expect(waits.allSatisfy { $0 <= .seconds(2) })
        #expect(waits.suffix(20).contains { $0 > .seconds(1) } && waits.suffix(20).contains { $0 < .seconds(1) }, "no jitter")
    }

    @Test mutating func theServerThatWasLostIsTriedLast() throws {
        makeReady()
        let lost = try #require(core.server)
        _ = step(.closed(link: core.link, .noAnswer))
        for _ in 0..<2 {
            #expect(try wait() != ["connect \(lost)"])
            _ = step(.closed(link: core.link, .noAnswer))
        }
        #expect(try wait() == ["connect \(lost)"])
    }

    @Test mutating func aServerThatDoesNotGreetIsLeft() throws {
        _ = step(.start)
        let before = now
        _ = step(.opened(link: core.link))
        #expect(try wait() == ["close", "trouble unreachable"])
        #expect(now - before == .seconds(2))
    }

    @Test mutating func whatTheServerComplainedOfIsWhyItLeft() throws {
        _ = step(.start)
        _ = step(.opened(link: core.link))
        _ = receive(.info(Self.info))
        #expect(receive(.error("Authorization Violation")) == [])
        #expect(step(.closed(link: core.link, .noAnswer)) == ["close", "trouble refused"])
    }

    @Test mutating func aForbiddenSubjectEndsNoConnection() {
        makeReady()
        #expect(receive(.error("Permissions Violation for Publish to \"a\"")) == ["trouble permissionDenied"])
        #expect(step(.publish(NATSPublication("a"))) == ["send PUB a 0"])
    }

    @Test(arguments: [("2.9.10", true), ("2.11.4", true), ("2.11.5", false), ("2.12.8", false), ("nonsense", true)])
    mutating func anOldServerIsLeft(version: String, isLeft: Bool) {
        _ = step(.start)
        _ = step(.opened(link: core.link))
        let effects = receive(.info(ServerInfo(version: version)))
        #expect((effects == ["close", "trouble serverTooOld"]) == isLeft)
        #expect(effects.contains("trouble serverTooOld") == (version != "2.12.8"))
    }

    @Test mutating func whatTheServerWouldNotTakeIsNotSent() {
        makeReady()
        let large = NATSPublication("a", payload: ByteBuffer(bytes: [UInt8](repeating: 0, count: 1001)))
        #expect(step(.request(id: 9, large, timeout: .seconds(1))) == ["answer 9 tooLarge"])
        #expect(step(.request(id: 9, NATSPublication("a b"), timeout: .seconds(1))) == ["answer 9 badConfiguration"])
        #expect(step(.publish(large)) == ["trouble tooLarge"])
    }

    @Test mutating func tlsIsMadeWhereItIsWantedAndTheServerLeftWhereItHasNone() throws {
        for (address, requires, expected) in [
            ("tls://a", true, ["secure a", "send CONNECT", "send PING"]), ("nats://a", true, ["secure a", "send CONNECT", "send PING"]),
            ("tls://a", false, ["close", "trouble tlsFailed"]), ("nats://a", false, ["send CONNECT", "send PING"]),
        ] {
            core = try Self.core([address])
            _ = step(.start)
            _ = step(.opened(link: core.link))
            #expect(receive(.info(ServerInfo(version: "2.12.8", requiresTLS: requires))) == expected)
        }
    }

    @Test mutating func aStoppedClientDoesNothing() {
        makeReady()
        let link = core.link
        #expect(step(.stop) == ["close", "disconnected stopped"])
        #expect(step(.closed(link: link, .noAnswer)) == [])
        #expect(core.deadline == nil)
        makeReady()
        #expect(step(.publish(NATSPublication("a"))) == ["send PUB a 0"])
    }

    @Test mutating func whatAnOldSocketSaysIsNotHeard() throws {
        makeReady()
        let old = core.link
        _ = step(.closed(link: old, .noAnswer))
        _ = try wait()
        #expect(step(.opened(link: old)) == [])
        #expect(step(.received(link: old, .info(Self.info))) == [])
        #expect(step(.closed(link: old, .noAnswer)) == [])
        if case .connecting = core.phase {} else { Issue.record("the new attempt is \(core.phase)") }
    }
}

/// What a test did not expect.
struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
