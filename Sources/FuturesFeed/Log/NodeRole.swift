import Replication

/// The part that a node plays in writing the log.
enum NodeRole {
    /// It never writes, because it is an edge or is stopping.
    case edge
    /// It writes if no other node does. As a hot standby, it maintains the streams itself in the meantime.
    case standby(Standby, ShadowFeed?)
    /// It writes. If another node takes over, it becomes a standby again, or an edge if it is stopping.
    case ingest(LogIngest, Standby?)

    var ingest: LogIngest? { if case .ingest(let ingest, _) = self { ingest } else { nil } }

    /// The ingest, unless it is stopping. A stopping ingest answers no node, because its feed may have ended.
    var answering: LogIngest? { if case .ingest(let ingest, _?) = self { ingest } else { nil } }

    var isStandby: Bool { if case .standby = self { true } else { false } }

    /// The streams that this node maintains as a hot standby.
    var shadow: ShadowFeed? {
        get { if case .standby(_, let shadow) = self { shadow } else { nil } }
        set { if case .standby(let standby, _) = self { self = .standby(standby, newValue) } }
    }

    /// Lets the standby decide; without effects if this node is none.
    mutating func decide(_ decide: (inout Standby) -> [Standby.Effect]) -> [Standby.Effect] {
        guard case .standby(var standby, let shadow) = self else { return [] }
        defer { self = .standby(standby, shadow) }
        return decide(&standby)
    }

    /// Starts to write; only a standby does.
    mutating func lead(_ ingest: LogIngest) {
        if case .standby(let standby, _) = self { self = .ingest(ingest, standby) }
    }

    /// Stops writing, because another node took over.
    mutating func stepDown() {
        if case .ingest(_, let standby) = self { self = standby.map { .standby($0, nil) } ?? .edge }
    }

    /// Never starts to write again. An ingest continues until it has stepped down.
    mutating func retire() {
        switch self {
        case .edge, .standby: self = .edge
        case .ingest(let ingest, _): self = .ingest(ingest, nil)
        }
    }
}
