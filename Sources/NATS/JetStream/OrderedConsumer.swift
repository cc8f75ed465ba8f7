import NIOCore

/// Decides how to read a stream from a sequence on without a gap: which consumer to use, when to replace it, and the records that are lost.
///
/// A value. Each attempt has its own consumer and inbox, so late messages of an earlier one are recognized. A consumer created beyond the stream's
/// end waits (2.12) or delivers from the end on (2.9) without notice. The leader is therefore asked for the stream's ends after each creation. Until
/// it has answered, messages are held and not acknowledged, so that the server sends only a few.
struct OrderedConsumer: Sendable {
    enum Input: Sendable {
        case read(from: UInt64)
        case stop
        case connected
        case disconnected
        case created(attempt: UInt64, Result<Void, NATSError>)
        case inspected(attempt: UInt64, Result<JetStreamState, NATSError>)
        case received(attempt: UInt64, NATSMessage)
        case deadline
    }

    enum Effect: Sendable {
        /// Listen on an inbox and create a consumer that delivers to it.
        case create(attempt: UInt64, from: UInt64)
        case inspect(attempt: UInt64)
        /// Stop listening.
        case remove(attempt: UInt64)
        /// Publish an empty message to this subject, so that the server continues to send.
        case acknowledge(String)
        case deliver(sequence: UInt64, ByteBuffer)
        case reading(JetStreamState)
        case stalled(NATSError)
        case trimmed(JetStreamState)
        case regressed(JetStreamState)
    }

    private enum Phase: Sendable {
        case idle
        /// Waits before the next attempt.
        case waiting(until: NIODeadline)
        case creating
        case inspecting
        case following
    }

    private let heartbeat: TimeAmount
    private var phase = Phase.idle
    private var isConnected: Bool
    private var attempt: UInt64 = 0
    /// The next sequence to deliver.
    private(set) var next: UInt64 = 1
    /// Messages received before the stream's ends were known.
    private var held: [NATSMessage] = []
    private var lastHeard = NIODeadline.uptimeNanoseconds(0)
    private var isStalled = false
    /// Attempts since the stream was last read in order.
    private var failures = 0
    private var random: any RandomNumberGenerator & Sendable

    /// - Parameter heartbeat: How often an idle server sends a heartbeat. If three in a row are missing, the consumer is recreated.
    init(heartbeat: TimeAmount, isConnected: Bool, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.heartbeat = heartbeat
        self.isConnected = isConnected
        self.random = random
    }

    var deadline: NIODeadline? {
        switch phase {
        // Requests have their own timeouts.
        case .idle, .creating, .inspecting: nil
        case .waiting(let until): isConnected ? until : nil
        case .following: lastHeard + heartbeat * 3
        }
    }

    mutating func step(_ input: Input, now: NIODeadline) -> [Effect] {
        var effects: [Effect] = []
        switch input {
        case .read(let from):
            leave(&effects)
            (next, failures, isStalled) = (max(1, from), 0, false)
            begin(now, &effects)
        case .stop: leave(&effects)
        case .connected:
            isConnected = true
            if case .waiting = phase { begin(now, &effects) }
        case .disconnected:
            isConnected = false
            guard isActive else { break }
            leave(&effects)
            phase = .waiting(until: now)
        case .created(let attempt, let result):
            guard attempt == self.attempt, case .creating = phase else { break }
            switch result {
            case .success:
                phase = .inspecting
                effects.append(.inspect(attempt: attempt))
            case .failure(let error): retry(error, now, &effects)
            }
        case .inspected(let attempt, let result):
            guard attempt == self.attempt, case .inspecting = phase else { break }
            switch result {
            case .success(let state): judge(state, now, &effects)
            case .failure(let error): retry(error, now, &effects)
            }
        case .received(let attempt, let message):
            guard attempt == self.attempt, isActive else { break }
            lastHeard = now
            if case .following = phase { receive(message, now, &effects) } else { held.append(message) }
        case .deadline: passDeadline(now, &effects)
        }
        return effects
    }

    private var isActive: Bool {
        switch phase {
        case .idle, .waiting: false
        case .creating, .inspecting, .following: true
        }
    }

    private mutating func receive(_ message: NATSMessage, _ now: NIODeadline, _ effects: inout [Effect]) {
        switch message.headers?.status {
        case nil:
            guard let sequence = message.reply.flatMap(Self.sequence) else { return }
            guard sequence == next else { return tear("message \(sequence) arrived instead of \(next)", now, &effects) }
            next &+= 1
            failures = 0
            effects.append(.deliver(sequence: sequence, message.payload))
        case 100:
            // Flow control is a request; a heartbeat contains the subject of a lost one.
            if let reply = message.reply ?? message.headers?["Nats-Consumer-Stalled"], (try? NATSPublication.check(subject: reply)) != nil {
                effects.append(.acknowledge(reply))
            }
            guard let last = message.headers?["Nats-Last-Stream"]?.utf8.decimal(below: .max) else { return }
            if UInt64(last) == next &- 1 { failures = 0 } else { tear("message \(last) was sent but \(next) did not arrive", now, &effects) }
        case .some(let status): tear("the consumer ended with status \(status)", now, &effects)
        }
    }

    private mutating func tear(_ why: String, _ now: NIODeadline, _ effects: inout [Effect]) {
        retry(NATSError(.jetStream, "The log is read again, because \(why)."), now, &effects)
    }

    private mutating func judge(_ state: JetStreamState, _ now: NIODeadline, _ effects: inout [Effect]) {
        let isRegressed = state.last < next &- 1
        if isRegressed || state.first > next {
            leave(&effects)
            return effects.append(isRegressed ? .regressed(state) : .trimmed(state))
        }
        phase = .following
        lastHeard = now
        isStalled = false
        effects.append(.reading(state))
        for message in held {
            guard case .following = phase else { break }
            receive(message, now, &effects)
        }
        held = []
    }

    private mutating func begin(_ now: NIODeadline, _ effects: inout [Effect]) {
        guard isConnected else { return phase = .waiting(until: now) }
        attempt &+= 1
        (phase, held, lastHeard) = (.creating, [], now)
        effects.append(.create(attempt: attempt, from: next))
    }

    private mutating func leave(_ effects: inout [Effect]) {
        if isActive { effects.append(.remove(attempt: attempt)) }
        phase = .idle
    }

    /// Creates another consumer, immediately the first time.
    private mutating func retry(_ error: NATSError, _ now: NIODeadline, _ effects: inout [Effect]) {
        leave(&effects)
        failures = min(failures + 1, 16)
        guard failures > 1 else { return begin(now, &effects) }
        if !isStalled { effects.append(.stalled(error)) }
        isStalled = true
        let bound = min(Int64(1_000_000_000), 20_000_000 << Int64(failures))
        phase = .waiting(until: now + .nanoseconds(.random(in: bound / 2...bound, using: &random)))
    }

    private mutating func passDeadline(_ now: NIODeadline, _ effects: inout [Effect]) {
        guard let deadline, deadline <= now else { return }
        guard case .waiting = phase else {
            if !isStalled {
                effects.append(.stalled(NATSError(.timedOut, "The log is silent, without a heartbeat: check the servers and the network.")))
            }
            isStalled = true
            return retry(.noAnswer, now, &effects)
        }
        begin(now, &effects)
    }

    /// The stream sequence in a delivered message's reply subject, of 9 tokens, or 11 and more with a domain:
    /// `$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.…`, `$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.<stream
    /// sequence>.…`
    private static func sequence(of reply: String) -> UInt64? {
        let tokens = reply.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard tokens.count == 9 || tokens.count >= 11, reply.utf8.starts(with: "$JS.ACK.".utf8) else { return nil }
        return tokens[tokens.count == 9 ? 5 : 7].decimal(below: JetStreamState.mostMessages).map(UInt64.init)
    }
}
