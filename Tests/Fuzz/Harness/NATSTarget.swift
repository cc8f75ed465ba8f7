import NIOCore

@testable import NATS

/// What a NATS server says: read the same however the bytes are cut, and survived by all that hears it.
enum NATSTarget {
    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, rest) = input.choice
        func read(_ size: Int) -> ([ServerMessage], NATSError?) {
            var parser = MessageParser(maximumPayload: 1 << 10)
            var messages: [ServerMessage] = []
            for start in stride(from: 0, to: rest.count, by: size) {
                parser.append(ByteBuffer(bytes: rest[start..<min(start + size, rest.count)]))
                do { while let message = try parser.next() { messages.append(message) } } catch { return (messages, error) }
            }
            return (messages, nil)
        }
        let (messages, error) = read(max(1, rest.count))
        let (others, otherError) = read(1 + Int(choice & 7))
        promise(messages == others && error?.code == otherError?.code, "cut otherwise, other messages: \(messages) \(others)")
        guard let address = try? ServerAddress("a.test") else { return promise(false, "the address is not read") }
        converse(messages, ClientSettings(servers: [address], name: "fuzz"))
    }

    /// A client that connects, and asks whenever it may.
    private static func converse(_ messages: [ServerMessage], _ settings: ClientSettings) {
        var core = ClientCore(settings: settings)
        var now = NIODeadline.uptimeNanoseconds(0)
        var link: UInt64 = 0
        var greetings = 0
        var consumer = OrderedConsumer(heartbeat: .milliseconds(500), isConnected: true)
        var next: UInt64 = 5
        _ = consumer.step(.read(from: next), now: now)
        func perform(_ effects: [ClientEffect]) {
            for effect in effects {
                switch effect {
                case .connect(let number, _): (link, greetings) = (number, 0)
                case .send(let message):
                    var buffer = ByteBuffer()
                    message.write(into: &buffer)
                    let lines = buffer.readableBytesView.count { $0 == UInt8(ascii: "\n") }
                    if case .publish = message { continue }
                    promise(lines == 1 && buffer.readableBytesView.suffix(2).elementsEqual("\r\n".utf8), "a message is not one line")
                    if case .connect = message { greetings += 1 }
                    promise(greetings <= 1, "a second CONNECT")
                case .deliver(let message):
                    for effect in consumer.step(.received(attempt: 1, message), now: now) {
                        switch effect {
                        case .deliver(let sequence, _):
                            promise(sequence == next, "\(sequence) is handed over in place of \(next)")
                            next += 1
                        case .acknowledge(let subject): promise((try? NATSPublication.check(subject: subject)) != nil, "\(subject) is answered")
                        default: break
                        }
                    }
                default: break
                }
            }
        }
        perform(core.step(.start, now: now))
        perform(core.step(.subscribe(id: 2, subject: "a"), now: now))
        perform(core.step(.opened(link: link), now: now))
        for (number, message) in messages.enumerated() {
            perform(core.step(.received(link: link, message), now: now))
            perform(core.step(.request(id: UInt64(number) + 3, NATSPublication("a"), timeout: .seconds(1)), now: now))
            now = now + .milliseconds(400)
            if let deadline = core.deadline, deadline <= now { perform(core.step(.deadline, now: now)) }
            perform(core.step(.opened(link: link), now: now))
        }
        perform(core.step(.stop, now: now))
    }
}
