@testable import FeedCore

/// What is known of one stream from its published events alone.
struct StreamWatch {
    enum Outage { case none, open, reported }

    var isConnected: Bool?
    var outage = Outage.none
    var awaitsFull = false
    var unwantedSince: Nanoseconds = 0
    /// When the stream's data last reached the core, by which way ever.
    var lastData: Nanoseconds?
    var lastFrame: Nanoseconds?
    /// Requests without an answer, newest last, each with the subscription it was made under.
    var attempts: [(attempt: UInt64, serial: Int)] = []
    /// Rises with each subscription, its first data and its loss.
    var serial = 0
    var hadDataSinceSubscription = false
    var fetchFailures = 0
    private var beganAt: [(ObserverID, UInt64)] = []

    /// Events up to this one are no news to the reader.
    func since(_ reader: ObserverID) -> UInt64 { beganAt.last { $0.0 == reader }?.1 ?? 0 }

    mutating func began(_ reader: ObserverID, _ sequence: UInt64) {
        beganAt.removeAll { $0.0 == reader }
        beganAt.append((reader, sequence))
    }

    mutating func take(_ event: FeedEvent, _ verdict: Verdict) {
        let name = event.stream
        switch event.kind {
        case .connected:
            verdict.expect(isConnected != true, .connectsAlternate, "\(name) connects twice")
            isConnected = true
        case .disconnected:
            verdict.expect(isConnected != false, .connectsAlternate, "\(name) disconnects twice")
            if isConnected == true, outage == .none { outage = .open }
            isConnected = false
        case .status(let state, _):
            if state == .recovering, outage == .none { outage = .open }
            guard state == .live else { return }
            verdict.expect(outage != .open, .oneRecoverPerOutage, "\(name) is live again without a recover")
            outage = .none
        case .recovered(let recovery):
            verdict.expect(outage == .open, .oneRecoverPerOutage, "\(name) recovers, its outage is \(outage)")
            outage = recovery.error == nil ? .none : .reported
            if recovery.error == nil { awaitsFull = true }
        case .updated(let content), .fetched(let content): take(content, event, verdict)
        case .ended:
            isConnected = nil
            outage = .none
            awaitsFull = false
            attempts = []
            lastData = nil
            lastFrame = nil
        default: break
        }
    }

    private mutating func take(_ content: FuturesServiceFeedContent, _ event: FeedEvent, _ verdict: Verdict) {
        let name = event.stream
        verdict.expect(content.streamName == name && content.id == event.id, .rowsAreTrue, "\(content.streamName) as \(name)")
        verdict.expect(
            content.state != .live || outage == .none, .oneRecoverPerOutage, "\(name) gives a live value while its outage is \(outage)")
        guard awaitsFull else { return }
        verdict.expect(content.kind == .full, .recoverThenFull, "\(name) gives a delta after its recover")
        awaitsFull = false
    }
}
