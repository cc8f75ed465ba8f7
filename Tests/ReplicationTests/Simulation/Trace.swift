import FeedCore
import ReplicatedLog
import Replication

extension LogCommand {
    /// What a person has to know of it.
    var words: String {
        if case .append(let id, let body, let expecting) = self {
            return "← append \(id & 0xFFFF_FFFF) behind \(expecting): \(LogMessage(body)?.words ?? "?")"
        }
        return "← \(self)"
    }
}

extension LogEvent {
    var words: String {
        switch self {
        case .record(let record): "→ record \(record.sequence): \(LogMessage(record.body)?.words ?? "?")"
        case .fetched(_, .success(let record)): "→ fetched \(record.sequence): \(LogMessage(record.body)?.words ?? "?")"
        default: "→ \(self)"
        }
    }
}

extension FeedMirror.Effect {
    var words: String {
        if case .tell(let event) = self {
            return "tell \(event.stream) \(event.id) \(event.kind)\(event.isLocal ? " by itself" : "")"
        }
        return "\(self)"
    }
}

extension LogMessage {
    var words: String {
        let claim = claim.map { " claims behind \(String($0.previous, radix: 36)).\(String($0.end, radix: 36))" } ?? ""
        return "\(EventID(epoch: epoch, sequence: first)) +\(eventCount) term \(term)\(claim)"
    }
}
