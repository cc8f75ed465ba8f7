import FuturesFeed
import MicroHTTP
import Rings
import WebSockets

/// Sockets with the venue's own messages. They read rings like event streams, but nothing is ever left out for them: a socket that cannot continue is
/// closed.
extension EventFanOut {
    /// Starts a socket. It already reads its rings. If they have dropped a message since the request, the socket is closed instead.
    func begin(_ client: inout EventClient, socket opening: Opening, _ now: Int64) -> EventClient.Connection {
        if case .after(let number, _) = opening.resume {
            guard reach(opening.values.map(\.ring), back: number) else {
                end(&client, code: "lost", reason: "Messages were lost before the socket opened.")
                return flush(&client, now)
            }
            _ = move(&client, behind: number)
        }
        return sendFirst(opening.values, to: &client, now)
    }

    /// Sends the messages with which the streams of a socket begin. A client that subscribes again and again but does not read them is closed.
    func sendFirst(_ values: [CachedValue], to client: inout EventClient, _ now: Int64) -> EventClient.Connection {
        for body in values.compactMap(\.body) {
            enqueuePrivate(&client, body)
            tally.deliveries &+= 1
        }
        guard flush(&client, now) == .open else { return .ended }
        guard client.isBlocked, client.privateBytes.reduce(0, { $0 + $1.bytes.count }) > limits.sockets.firstBytes else { return .open }
        sendOff(&client, reason: "The client reads too slowly for so many subscriptions.")
        return .open
    }

    /// Closes a socket if the rings have dropped a message that it lacks.
    func endFallen(_ client: inout EventClient) {
        guard client.reader.firstFallen(from: 0, rings) != nil else { return }
        sendOff(&client, reason: "The client reads too slowly: messages were lost.")
    }

    /// Reads bytes from the client of a socket.
    func receive(_ client: inout EventClient, _ bytes: UnsafeRawBufferPointer, _ now: Int64) -> EventClient.Connection {
        guard let socket = client.socket, !client.isEnding else { return .open }
        var events: [ClientFrames.Event] = []
        var isOverLimit = false
        do throws(ClientFrames.Violation) {
            try socket.frames.read(bytes) { event in
                if case .close = event {} else { isOverLimit = !socket.mayReceive(limits.sockets.messagesPerSecond, now: now) }
                if !isOverLimit { events.append(event) }
                return !isOverLimit
            }
        } catch {
            socket.violation = error.code
            for event in events { act(on: event, &client, socket, now) }
            end(&client, code: "violation", reason: "The client broke the protocol: \(error.reason).")
            return flush(&client, now)
        }
        for event in events where !client.isEnding { act(on: event, &client, socket, now) }
        if isOverLimit {
            end(&client, code: "limit", reason: "Too many requests: at most \(limits.sockets.messagesPerSecond) messages per second.")
        }
        return flush(&client, now)
    }

    /// Queues the answer to a message. A client that sends messages but reads no answers is closed, because its answers would need more and more memory.
    func answer(_ client: inout EventClient, _ bytes: [UInt8]) {
        guard !client.isEnding else { return }
        let waiting = client.privateBytes.reduce(0) { $0 + ($1.isAnswer ? $1.bytes.count : 0) }
        guard waiting + bytes.count <= limits.sockets.answerBytes else {
            return sendOff(&client, reason: "The client reads too slowly: it reads no answers.")
        }
        client.privateBytes.append(EventClient.PrivateBytes(bytes: bytes, isAnswer: true))
    }

    private func act(on event: ClientFrames.Event, _ client: inout EventClient, _ socket: SocketPeer, _ now: Int64) {
        tally.socketMessages &+= 1
        switch event {
        case .text(let text): callbacks.socketReceived(client.number, text)
        case .ping(let payload): answer(&client, ServerFrame.pong(payload))
        case .pong: socket.answeredAt = now
        case .binary:
            socket.violation = CloseCode.unsupportedData
            end(&client, code: "violation", reason: "Requests are texts.")
        case .close(let code):
            leaveAll(&client)
            enqueuePrivate(&client, ServerFrame.close(code))
            client.isEnding = true
            client.endsAt = .max
        }
    }

    /// Sends a ping if one is due, and cuts a client that has answered none for long.
    func tick(_ client: inout EventClient, _ socket: SocketPeer, _ now: Int64) -> EventClient.Connection {
        if now - socket.answeredAt >= limits.sockets.pongPatience.nanoseconds {
            client.stream.abort()
            tally.cut &+= 1
            return .ended
        }
        guard now - socket.pingedAt >= limits.sockets.pingInterval.nanoseconds, !client.isBlocked, !client.isEnding else { return .open }
        socket.pingedAt = now
        enqueuePrivate(&client, ServerFrame.ping(Array("\(Moment.current.wallClock)".utf8)))
        return flush(&client, now)
    }

    /// Moves a socket to rings with the same messages in another form, without a gap or a repetition.
    func reformat(_ client: inout EventClient, _ format: EventFormat, _ pairs: [(old: Int, new: Int)], _ now: Int64) -> EventClient.Connection {
        guard flush(&client, now) == .open else { return .ended }
        tally.reformatted(from: client.options.format, to: format)
        client.options.format = format
        client.reader.format = format
        for (old, new) in pairs {
            guard let place = client.reader.subscriptions.firstIndex(where: { $0.ring == old }), rings.contains(old), rings.contains(new) else {
                continue
            }
            let missing = rings[old].view.endOrdinal - client.reader.subscriptions[place].cursor
            let end = rings[new].view.endOrdinal
            guard missing <= end - rings[new].view.firstOrdinal else {
                sendOff(&client, reason: "The client reads too slowly: messages were lost.")
                break
            }
            detach(&client, place)
            client.reader.subscriptions[place] = ReaderCursors.Subscription(ring: new, cursor: end - missing)
            attach(&client, place)
        }
        return flush(&client, now)
    }
}
