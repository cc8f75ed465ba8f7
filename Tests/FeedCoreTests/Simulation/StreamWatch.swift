@testable import FeedCore

/// What is known of one stream from its published events alone.
struct StreamWatch {
    enum Outage { case none, open, reported }

    private(set) var isConnected: Bool?
    private(set) var outage = Outage.none
    private(set) var isEnded = false
    private var toldAt: Nanoseconds = 0
    /// After this moment there was no evidence of the outage's content.
    private var lastEvidence: Nanoseconds = 0
    private var awaitsFull = false
    var unwantedSince: Nanoseconds = 0
    /// When the stream's data last reached the core, by which way ever.
    var lastData: Nanoseconds?
    /// When a message last brought something new.
    private(set) var lastNews: Nanoseconds?
    /// When a message last brought rows that were news.
    var lastFrame: Nanoseconds?
    /// When a message came last that could not be read.
    var unreadableAt: Nanoseconds?
    /// When an unreadable message last arrived on any line; nil after a readable one that verifies its rows.
    var spoiledAt: Nanoseconds?
    var wasUnreadable: Bool { spoiledAt != nil }
    /// Requests without an answer, newest last, each with the subscription it was made under.
    var attempts: [(attempt: UInt64, serial: Int, followsSubscription: Bool, isBackfill: Bool, isCurrent: Bool, askedAt: Nanoseconds)] = []
    /// When a request failed last, and how many in a row were repeated at once.
    var lastFailure: Nanoseconds?
    var quickRepeats = 0
    /// Rises with each subscription, its first data and its loss.
    var serial = 0
    var hadDataSinceSubscription = false
    /// A frame of the book was altered on its way, and the book not built anew since.
    var isCorrupted = false
    /// The last update of the frame that was altered, when it arrived, and where the newest complete book ended.
    var corruptedUpdate: UInt64 = 0
    var corruptedAt: Nanoseconds?
    var fetchedUpdate: UInt64 = 0
    private var beganAt: [(ObserverID, UInt64)] = []
    private var progress = Progress()

    /// Events up to this one are no news to the reader.
    func since(_ reader: ObserverID) -> UInt64 { beganAt.last { $0.0 == reader }?.1 ?? 0 }

    mutating func began(_ reader: ObserverID, _ sequence: UInt64) {
        beganAt.removeAll { $0.0 == reader }
        beganAt.append((reader, sequence))
    }

    /// - Parameter heard: when the stream's connection was heard last.
    mutating func take(_ event: FeedEvent, _ now: Nanoseconds, heard: Nanoseconds?, _ verdict: Verdict) {
        let name = event.stream
        switch event.kind {
        case .connected:
            verdict.expect(isConnected != true, .connectsAlternate, "\(name) connects twice")
            isConnected = true
        case .disconnected:
            verdict.expect(isConnected != false, .connectsAlternate, "\(name) disconnects twice")
            if isConnected == true { beginOutage(now, evidence: [heard, lastData, lastNews].compactMap(\.self).max()) }
            isConnected = false
            progress.beginGeneration()
        case .status(.ended, _, _):
            verdict.expect(outage != .open, .oneRecoverPerOutage, "\(name) ends without a word about its outage")
            let kept = (progress, isCorrupted, lastData, lastNews)
            forget()
            isEnded = true
            (progress, isCorrupted, lastData, lastNews) = kept
            progress.beginOutage()
            progress.beginGeneration()
        case .status(let state, _, _):
            if state == .recovering { beginOutage(now, evidence: nil) }
            if state == .stale { beginOutage(now, evidence: [lastData, lastNews].compactMap(\.self).max()) }
            if state == .connecting {
                isEnded = false
                progress.beginGeneration()
            }
            guard state == .live else { return }
            verdict.expect(outage != .open, .oneRecoverPerOutage, "\(name) is live again without a recover")
            outage = .none
        case .recovered(let recovery): take(recovery, name, now, verdict)
        case .updated(let content):
            lastNews = now
            take(content, event, verdict)
        case .fetched(let content): take(content, event, verdict)
        case .ended:
            forget()
            isEnded = false
        case .failed: break
        }
    }

    private mutating func beginOutage(_ now: Nanoseconds, evidence: Nanoseconds?) {
        guard outage == .none else { return }
        outage = .open
        toldAt = now
        lastEvidence = min(evidence ?? now, now)
        progress.beginOutage()
    }

    private mutating func forget() {
        isConnected = nil
        outage = .none
        awaitsFull = false
        attempts = []
        lastData = nil
        lastNews = nil
        unreadableAt = nil
        lastFrame = nil
        isCorrupted = false
        progress = Progress()
    }

    private mutating func take(_ recovery: FeedRecovery, _ name: FuturesServiceStreamName, _ now: Nanoseconds, _ verdict: Verdict) {
        verdict.expect(outage == .open, .oneRecoverPerOutage, "\(name) recovers, its outage is \(outage)")
        let told = (now - toldAt) / 1_000_000
        verdict.expect(recovery.detectedMs == told, .recoverTellsTheCost, "\(name) was told \(told) ms ago, not \(recovery.detectedMs)")
        let down = (now - lastEvidence) / 1_000_000
        verdict.expect(recovery.downMs >= down, .recoverTellsTheCost, "\(name) was down for \(down) ms at least, not \(recovery.downMs)")
        outage = recovery.error == nil ? .none : .reported
        guard recovery.error == nil else { return }
        if corruptedUpdate <= fetchedUpdate { isCorrupted = false }
        awaitsFull = recovery.method != .backfill
        progress.recovered(recovery, name, verdict)
    }

    private mutating func take(_ content: FuturesServiceFeedContent, _ event: FeedEvent, _ verdict: Verdict) {
        let name = event.stream
        verdict.expect(content.streamName == name && content.id == event.id, .rowsAreTrue, "\(content.streamName) as \(name)")
        verdict.expect(!isEnded, .endedIsEnded, "\(name) gives a value")
        verdict.expect(
            content.state != .live || outage == .none, .oneRecoverPerOutage, "\(name) gives a live value while its outage is \(outage)")
        progress.take(content, verdict)
        guard awaitsFull else { return }
        verdict.expect(content.kind == .full, .recoverThenFull, "\(name) gives a delta after its recover")
        awaitsFull = false
    }
}
