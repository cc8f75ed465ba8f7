import DequeModule
import FeedCore
import ReplicatedLog

/// Handles the server's answers to appends. If an append fails, checks the log's content.
extension LogWriter {
    mutating func answered(_ id: UInt64, at sequence: UInt64) {
        guard let place = sent.firstIndex(where: { $0.id == id }) else { return }
        if place == 0, case .open = phase, sequence == end + 1 {
            guard epochs.judge(sent[0].bytes) == .counts else { return depose(.succeeded) }
            acknowledge(at: sequence)
            return
        }
        sent[place].isAnswered = true
        fail()
    }

    mutating func refused(_ id: UInt64, _ code: LogError.Code) {
        guard let place = sent.firstIndex(where: { $0.id == id }) else { return }
        refusals += 1
        (sent[place].isAnswered, sent[place].failure) = (true, code)
        fail()
    }

    /// Waits until every append has an outcome, then checks the log.
    mutating func fail() {
        switch phase {
        case .open, .failed: break
        default: return
        }
        phase = .failed
        guard sent.allSatisfy(\.isAnswered) else { return }
        // The same append is likely to be refused again.
        if sent.contains(where: { $0.failure == .refused || $0.failure == .tooLarge }) { wait() } else { inspect() }
    }

    mutating func inspect() {
        lastID += 1
        phase = .inspecting(id: lastID)
        effects.append(.perform(.inspect(id: lastID)))
    }

    mutating func inspected(_ id: UInt64, _ result: Result<LogExtent, LogError>) {
        guard case .inspecting(id) = phase else { return }
        switch result {
        case .failure: wait()
        case .success(let extent):
            guard extent.last >= acknowledged.sequence else { return depose(.regressed) }
            guard extent.first <= acknowledged.sequence else { return depose(.trimmed) }
            // The server may have lost void records behind it.
            end = min(end, extent.last)
            let new = end..<min(extent.last, end + Self.mostFetches)
            fetch([acknowledged.sequence] + new.map { $0 + 1 }, of: extent.last)
        }
    }

    private mutating func fetch(_ sequences: [UInt64], of last: UInt64) {
        phase = .reading(Look(id: lastID + 1, sequences: sequences, last: last, bodies: Array(repeating: nil, count: sequences.count)))
        for sequence in sequences {
            lastID += 1
            effects.append(.perform(.fetch(id: lastID, sequence: sequence)))
        }
    }

    mutating func fetched(_ id: UInt64, _ result: Result<LogRecord, LogError>) {
        guard case .reading(var look) = phase, id >= look.id, id - look.id < UInt64(look.bodies.count) else { return }
        guard case .success(let record) = result else { return wait() }
        look.bodies[Int(id - look.id)] = record.body
        phase = .reading(look)
        if look.isComplete { judge(look) }
    }

    private mutating func judge(_ look: Look) {
        guard look.bodies.first == acknowledged.body else { return depose(.regressed) }
        for (sequence, body) in zip(look.sequences, look.bodies.compactMap(\.self)).dropFirst() {
            switch epochs.judge(body) {
            case .counts where body == sent.first?.bytes: acknowledge(at: sequence)
            case .isVoid: break
            default: return depose(.succeeded)
            }
            end = sequence
        }
        if end < look.last { inspect() } else { resend() }
    }

    private mutating func wait() {
        let delay = min(limits.retry.lowerBound * (1 << min(retries, 10)), limits.retry.upperBound)
        retries += 1
        phase = .waiting(until: now.instant + delay)
    }
}

extension EpochTable {
    /// A record that cannot be read is void.
    mutating func judge(_ body: [UInt8]) -> Verdict { LogMessage(body).map { judge($0, inOrder: true) } ?? .isVoid }
}
