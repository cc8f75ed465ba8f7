import DequeModule
package import NIOCore
package import ReplicatedLog

/// A JetStream stream as a replicated log.
package final class JetStreamLog: LogEngine {
    private let loop: any EventLoop
    private let stream: String
    private let subject: String
    private let heartbeat: TimeAmount
    private let listener: (LogEvent) -> Void
    private var consumer: OrderedConsumer
    private var inbox: UInt64?
    private var heard: [String: UInt64] = [:]
    private var timer: (at: NIODeadline, task: Scheduled<Void>)?
    private var appends = OrderedAnswers()
    /// Distinguishes one reading from the next.
    private var readings: UInt64 = 0
    private var connection: NATSClient?
    /// The stream to create if it is missing; nil when that is done.
    private var missing: StreamConfiguration?
    private var isConnected = false

    /// Receives warnings that are not events of the log: failed connection attempts, forbidden subjects.
    private let trouble: (NATSError) -> Void

    /// - Parameters:
    ///   - stream: The stream's name.
    ///   - subject: The only subject that the stream stores.
    ///   - making: The stream to create first, if the servers do not have it.
    ///   - heartbeat: How often an idle server sends a heartbeat; the client waits for three.
    package init(
        _ settings: ClientSettings, stream: String, subject: String, making: StreamConfiguration? = nil, heartbeat: TimeAmount = .milliseconds(500),
        loop: any EventLoop, trouble: @escaping (NATSError) -> Void, listener: @escaping (LogEvent) -> Void
    ) {
        missing = making
        self.loop = loop
        self.stream = stream
        self.subject = subject
        self.heartbeat = heartbeat
        self.trouble = trouble
        self.listener = listener
        consumer = OrderedConsumer(heartbeat: heartbeat, isConnected: false)
        connection = NATSClient(settings: settings, loop: loop) { self.receive($0) }
        connection?.start()
    }

    /// The log's connection; nil after it was stopped.
    package var client: NATSClient? { connection }

    /// Ends the connection and all pending commands. Later commands have no effect. Without this call, the log lives forever.
    package func stop() {
        step(.stop)
        timer?.task.cancel()
        connection?.stop()
        connection = nil
    }

    package func perform(_ command: LogCommand) {
        guard let client = connection else { return }
        let jetStream = JetStream(client, timeout: TimeAmount(LogCommand.appendPatience))
        switch command {
        case .append(let id, let body, let expecting):
            appends.await(id)
            jetStream.append(ByteBuffer(bytes: body), to: subject, of: stream, expecting: expecting) { result in
                for event in self.appends.settle(id, result.mapError(LogError.init)) { self.listener(event) }
            }
        case .read(let from):
            readings += 1
            step(.read(from: from))
        case .stopReading:
            readings += 1
            step(.stop)
        case .inspect(let id):
            jetStream.state(of: stream) { self.listener(.inspected(id: id, $0.map(LogExtent.init).mapError(LogError.init))) }
        case .fetch(let id, let sequence):
            jetStream.message(of: stream, sequence) { result in
                self.listener(.fetched(id: id, result.map { LogRecord(sequence: sequence, body: $0) }.mapError(LogError.init)))
            }
        case .hear(let subject):
            attempt {
                heard[subject] = try client.subscribe(subject) { message in
                    self.listener(.heard(subject: message.subject, Array(message.payload.readableBytesView), reply: message.reply.map(LogReply.init)))
                }
            }
        case .ignore(let subject): if let id = heard.removeValue(forKey: subject) { client.unsubscribe(id) }
        case .publish(let subject, let body): attempt { try client.publish(NATSPublication(subject, payload: ByteBuffer(bytes: body))) }
        case .request(let id, let subject, let body, let patience):
            client.request(NATSPublication(subject, payload: ByteBuffer(bytes: body)), timeout: TimeAmount(patience)) { result in
                self.listener(.answered(id: id, result.map { Array($0.payload.readableBytesView) }.mapError(LogError.init)))
            }
        case .respond(let reply, let body): attempt { try client.publish(NATSPublication(reply.address, payload: ByteBuffer(bytes: body))) }
        }
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { if let error = error as? NATSError { trouble(error) } }
    }

    private func receive(_ event: NATSEvent) {
        switch event {
        case .connected:
            isConnected = true
            begin()
        case .disconnected(let error):
            isConnected = false
            step(.disconnected)
            listener(.disconnected(LogError(error)))
        case .trouble(let error): trouble(error)
        }
    }

    /// The stream must exist before it is read.
    private func begin() {
        guard isConnected, let client = connection else { return }
        guard let missing else {
            listener(.connected)
            return step(.connected)
        }
        JetStream(client).provide(missing) { result in
            guard self.missing != nil else { return }
            if case .failure(let error) = result {
                self.trouble(error)
                // A repeated request would be refused again. The stream may exist nevertheless.
                if error.code != .jetStream {
                    self.loop.assumeIsolated().scheduleTask(in: .seconds(1)) { if self.missing != nil { self.begin() } }
                    return
                }
            }
            self.missing = nil
            self.begin()
        }
    }

    private func step(_ input: OrderedConsumer.Input) {
        let reading = readings
        // The listener may start another reading, after which the rest of this one is dropped.
        for effect in consumer.step(input, now: .now()) where readings == reading { perform(effect) }
        guard let deadline = consumer.deadline, deadline < timer?.at ?? .distantFuture else { return }
        timer?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.step(.deadline)
        }
        timer = (deadline, task)
    }

    private func perform(_ effect: OrderedConsumer.Effect) {
        guard let client = connection else { return }
        switch effect {
        case .create(let attempt, let from):
            let subject = client.newInbox()
            self.attempt { inbox = try client.subscribe(subject) { self.step(.received(attempt: attempt, $0)) } }
            JetStream(client).createConsumer(of: stream, deliver: subject, from: from, heartbeat: heartbeat) { result in
                self.step(.created(attempt: attempt, result))
            }
        case .inspect(let attempt): JetStream(client).state(of: stream) { self.step(.inspected(attempt: attempt, $0)) }
        case .remove:
            if let inbox { client.unsubscribe(inbox) }
            inbox = nil
        case .acknowledge(let subject): attempt { try client.publish(NATSPublication(subject)) }
        case .deliver(let sequence, let body):
            listener(.record(LogRecord(sequence: sequence, body: Array(body.readableBytesView))))
        case .reading(let state): listener(.reading(LogExtent(state)))
        case .stalled(let error): listener(.stalled(LogError(error)))
        case .trimmed(let state): listener(.trimmed(LogExtent(state)))
        case .regressed(let state): listener(.regressed(LogExtent(state)))
        }
    }
}

/// Reports the outcomes of appends in the order of the requests. Servers refuse immediately, but acknowledge only when most of them have the record.
struct OrderedAnswers {
    private var waiting: Deque<(id: UInt64, result: Result<UInt64, LogError>?)> = []

    mutating func await(_ id: UInt64) { waiting.append((id, nil)) }

    /// The outcomes that can be reported now.
    mutating func settle(_ id: UInt64, _ result: Result<UInt64, LogError>) -> [LogEvent] {
        guard let place = waiting.firstIndex(where: { $0.id == id && $0.result == nil }) else { return [] }
        waiting[place].result = result
        var events: [LogEvent] = []
        while let (id, result) = waiting.first, let result {
            waiting.removeFirst()
            switch result {
            case .success(let sequence): events.append(.appended(id: id, sequence: sequence))
            case .failure(let error): events.append(.notAppended(id: id, error))
            }
        }
        return events
    }
}

extension LogExtent {
    fileprivate init(_ state: JetStreamState) { self.init(first: state.first, last: state.last) }
}

extension LogError {
    init(_ error: NATSError) {
        let code: Code =
            switch error.code {
            case .wrongSequence: .wrongSequence
            case .storeFull: .full
            case .notConnected, .noResponders, .backlogged, .unreachable, .stopped: .unavailable
            case .disconnected, .timedOut, .malformedAnswer: .unknown
            case .notFound: .notFound
            case .badConfiguration, .tlsFailed, .refused, .permissionDenied, .serverTooOld, .protocolViolation, .jetStream: .refused
            case .tooLarge: .tooLarge
            }
        self.init(code, error.message)
    }
}
