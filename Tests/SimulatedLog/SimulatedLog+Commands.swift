import ReplicatedLog

extension SimulatedLog {
    /// Whether the client's reading can go on, and what it is told.
    mutating func judge(_ client: Int) {
        guard let next = clients[client].next else { return }
        let extent = copies[clients[client].side].extent
        if extent.last &+ 1 < next {
            (clients[client].next, clients[client].isReading) = (nil, false)
            clients[client].told.append(.regressed(extent))
        } else if extent.first > next {
            (clients[client].next, clients[client].isReading) = (nil, false)
            clients[client].told.append(.trimmed(extent))
        } else {
            clients[client].isReading = true
            clients[client].told.append(.reading(extent))
        }
    }

    /// Gives a client the answers that are due. Those to its appends keep their order.
    mutating func answer(_ client: Int) {
        for answer in clients[client].answers where answer.due <= now { clients[client].told.append(answer.event) }
        clients[client].answers.removeAll { [now] in $0.due <= now }
    }

    /// Carries out some of a client's commands, in their order, and hands it some records.
    mutating func work(_ client: Int) {
        var count = Int.random(in: 0...clients[client].commands.count, using: &random)
        while count > 0 {
            count -= 1
            // A lost command holds up the answers behind it, until nobody waits for it.
            guard let sent = clients[client].commands.first, !sent.isLost || sent.isForgotten else { break }
            clients[client].commands.removeFirst()
            if !sent.isLost { carryOut(sent, client) }
        }
        guard clients[client].backAt == nil else { return }
        for _ in 0..<Int.random(in: 0...32, using: &random) {
            guard let next = clients[client].next else { return }
            let copy = copies[clients[client].side]
            if next < copy.first { return judge(client) }
            guard let record = copy[next] else { return }
            clients[client].told.append(.record(record))
            clients[client].next = next + 1
        }
    }

    private mutating func carryOut(_ sent: Sent, _ client: Int) {
        let side = clients[client].side
        let event: LogEvent
        switch sent.command {
        case .append(let id, let body, let expecting):
            if checksExpectations, copies[side].last != expecting {
                event = .notAppended(id: id, LogError(.wrongSequence, "The log ends at \(copies[side].last)."))
            } else {
                copies[side].bodies.append(body)
                if copies[side].bodies.count > maximumRecords {
                    copies[side].bodies.removeFirst()
                    copies[side].first += 1
                }
                event = .appended(id: id, sequence: copies[side].last)
            }
        case .inspect(let id): event = .inspected(id: id, .success(copies[side].extent))
        case .fetch(let id, let sequence):
            event = .fetched(id: id, copies[side][sequence].map { .success($0) } ?? .failure(LogError(.notFound, "There is no such record.")))
        case .publish(let subject, let body):
            tell(subject, body, nil)
            return
        case .request(let id, let subject, let body, _):
            guard clients.contains(where: { $0.hears.contains(subject) && $0.backAt == nil }) else {
                event = .answered(id: id, .failure(LogError(.unavailable, "Nobody answers at this subject.")))
                break
            }
            lastAddress += 1
            if !sent.isForgotten { requests.append(("reply.\(lastAddress)", client, id, now)) }
            tell(subject, body, LogReply("reply.\(lastAddress)"))
            return
        case .respond(let reply, let body):
            guard let place = requests.firstIndex(where: { $0.address == reply.address }) else { return }
            let request = requests.remove(at: place)
            clients[request.client].told.append(.answered(id: request.id, .success(body)))
            return
        case .read, .stopReading, .hear, .ignore: return
        }
        guard !sent.isForgotten else { return }
        let told = happens(faults.unanswered) ? sent.command.failure(.noAnswer) ?? event : event
        var due = happens(faults.late) ? now + Int.random(in: 1...30, using: &random) : now
        if case .append = sent.command { due = clients[client].answers.reduce(due) { $1.sent.command.isAppend ? max($0, $1.due) : $0 } }
        clients[client].answers.append(Answer(sent: sent, event: told, due: due))
    }

    private mutating func tell(_ subject: String, _ body: [UInt8], _ reply: LogReply?) {
        for client in clients.indices where clients[client].hears.contains(subject) && clients[client].backAt == nil {
            clients[client].told.append(.heard(subject: subject, body, reply: reply))
        }
    }
}

extension LogError {
    static let noAnswer = LogError(.unknown, "No answer came in time.")
}

extension LogCommand {
    fileprivate var isAppend: Bool { if case .append = self { true } else { false } }

    /// What its sender is told if nothing comes of it; nil if nothing is told.
    func failure(_ error: LogError) -> LogEvent? {
        switch self {
        case .append(let id, _, _): return .notAppended(id: id, error)
        case .inspect(let id): return .inspected(id: id, .failure(error))
        case .fetch(let id, _): return .fetched(id: id, .failure(error))
        case .request(let id, _, _, _): return .answered(id: id, .failure(error))
        case .read, .stopReading, .hear, .ignore, .publish, .respond: return nil
        }
    }
}
