import NIOCore

/// Decides how a stream is read from a sequence on, without a hole: which consumer, when another one, and what was lost for good.
///
/// A value. Each attempt has a consumer and an inbox of its own, so what an earlier one still sends is told apart. A consumer made beyond the stream's
/// end waits (2.12) or delivers from the end on (2.9) and says nothing of it, so the leader is asked for the stream's ends after each creation. Until it
/// has answered, what comes is held, and the server is not told to go on, so that it is little.
struct OrderedConsumer: Sendable {
    enum Input: Sendable {
        case read(from: UInt64)
        case stop
        case connected
        case disconnected
        case created(attempt: UInt64, Result<Void, NATSError>)
        case inspected(attempt: UInt64, Result<StreamState, NATSError>)
        case received(attempt: UInt64, NATSMessage)
        case deadline
    }

    enum Effect: Sendable {
        /// Listen at an inbox and have a consumer deliver to it.
        case create(attempt: UInt64, from: UInt64)
        case inspect(attempt: UInt64)
        /// Listen no more.
        case remove(attempt: UInt64)
        /// Publish nothing to this subject: the server goes on sending.
        case acknowledge(String)
        case deliver(sequence: UInt64, ByteBuffer)
        case reading(StreamState)
        case stalled(NATSError)
        case trimmed(StreamState)
        case regressed(StreamState)
    }

    private enum Phase: Sendable {
        case idle
        /// Waits, to try again.
        case waiting(until: NIODeadline)
        case creating
        case inspecting
        case following
    }

    private let heartbeat: TimeAmount
    private var phase = Phase.idle
    private var isConnected: Bool
    private var attempt: UInt64 = 0
    /// The sequence to be handed over next.
    private(set) var next: UInt64 = 1
    /// What came before the stream's ends were known.
    private var held: [NATSMessage] = []
    private var lastHeard = NIODeadline.uptimeNanoseconds(0)
    private var isStalled = false
    /// Attempts since the stream was last read in order.
    private var failures = 0
    private var random: any RandomNumberGenerator & Sendable

    /// - Parameter heartbeat: how often an idle server says that it lives. After three of them without a word, the consumer is made anew.
    init(heartbeat: TimeAmount, isConnected: Bool, random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.heartbeat = heartbeat
        self.isConnected = isConnected
        self.random = random
    }

    var deadline: NIODeadline? {
        switch phase {
        // Requests have time-outs of their own.
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
            guard sequence == next else { return tear("message \(sequence) came in place of \(next)", now, &effects) }
            next &+= 1
            failures = 0
            effects.append(.deliver(sequence: sequence, message.payload))
        case 100:
            // Flow control is a request; a heartbeat names the one that was lost.
            if let reply = message.reply ?? message.headers?["Nats-Consumer-Stalled"], (try? NATSPublication.check(subject: reply)) != nil {
                effects.append(.acknowledge(reply))
            }
            guard let last = message.headers?["Nats-Last-Stream"]?.utf8.decimal(below: .max) else { return }
            if UInt64(last) == next &- 1 { failures = 0 } else { tear("message \(last) was sent and \(next) did not come", now, &effects) }
        case .some(let status): tear("the consumer ended with status \(status)", now, &effects)
        }
    }

    private mutating func tear(_ why: String, _ now: NIODeadline, _ effects: inout [Effect]) {
        retry(NATSError(.jetStream, "The log is read anew, because \(why)."), now, &effects)
    }

    private mutating func judge(_ state: StreamState, _ now: NIODeadline, _ effects: inout [Effect]) {
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

    /// Another consumer, at once the first time.
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

    /// The stream's sequence in a delivered message's reply subject, of 9 tokens, or 11 and more with a domain:
    /// `$JS.ACK.<stream>.<consumer>.<delivered>.<stream sequence>.…`, `$JS.ACK.<domain>.<account>.<stream>.<consumer>.<delivered>.<stream sequence>.…`
    private static func sequence(of reply: String) -> UInt64? {
        let tokens = reply.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard tokens.count == 9 || tokens.count >= 11, reply.utf8.starts(with: "$JS.ACK.".utf8) else { return nil }
        return tokens[tokens.count == 9 ? 5 : 7].decimal(below: .max).map(UInt64.init)
    }
}
