import NIOCore

/// Plays a recording once, at its own pace, starting shortly after the first subscription. Used on the exchange's event loop.
final class ReplayPlayer {
    private let frames: [Recording.Frame]
    private let replay: Replay
    private let loop: any EventLoop
    private(set) var played: PlayedMarket
    private var position = 0
    /// When the first frame was due; nil before the first subscription.
    private var startTime: NIODeadline?
    private var next: Scheduled<Void>?
    private var blockedSince: NIODeadline?

    /// Frames sent at a stretch before other work gets its turn.
    private static let batch = 64

    init(_ recording: Recording, _ replay: Replay, loop: any EventLoop) {
        frames = recording.frames
        self.replay = replay
        self.loop = loop
        played = PlayedMarket(recording.symbols)
    }

    /// Starts to play; later calls have no effect.
    func start(_ venue: Venue) {
        guard startTime == nil, next == nil else { return }
        let begin = NIODeadline.now() + TimeAmount(replay.settle)
        startTime = begin
        schedule(at: begin, venue)
    }

    /// Stops playing while the exchange is down. The recorded time continues to run; at speed 0 playing waits for the next subscription.
    func pause() {
        next?.cancel()
        next = nil
        if replay.speed <= 0 { startTime = nil }
    }

    func resume(_ venue: Venue) {
        if startTime != nil { schedule(at: .now(), venue) }
    }

    private func schedule(at time: NIODeadline, _ venue: Venue) {
        next = loop.assumeIsolated().scheduleTask(deadline: time) { [weak self, weak venue] in
            if let venue { self?.play(venue) }
        }
    }

    private func play(_ venue: Venue) {
        let now = NIODeadline.now()
        guard venue.readersKeepUp else {
            let since = blockedSince ?? now
            blockedSince = since
            if now - since > .seconds(10) { venue.cutSlowReaders() }
            return schedule(at: now + .milliseconds(5), venue)
        }
        blockedSince = nil
        let end = min(frames.count, position + Self.batch)
        while position < end, due(frames[position]) <= now {
            let frame = frames[position]
            position += 1
            played.played(frame.payload)
            venue.play(frame)
        }
        if position < frames.count { schedule(at: max(now, due(frames[position])), venue) }
    }

    private func due(_ frame: Recording.Frame) -> NIODeadline {
        let start = startTime ?? .now()
        guard replay.speed > 0 else { return start }
        return start + .nanoseconds(Int64(min(frame.offset / replay.speed, 1e8) * 1e9))
    }
}
