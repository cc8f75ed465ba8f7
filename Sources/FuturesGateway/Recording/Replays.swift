import FuturesFeed
import NIOConcurrencyHelpers
import NIOCore
import Rings
import Tape

/// The replay that a request asks for: its start, its end and its speed.
struct ReplayOptions: Sendable {
    let start: TapeReplay.Start
    /// Nil if the replay continues with live events.
    let end: TapeReplay.End?
    /// Seconds of the past per second; 0 for as fast as the reader accepts them.
    let speed: Double
    /// Whether the replay contains the missed events of a reader that resumes with an id older than the rings.
    var isResume = false
}

/// Replays the tape to readers in pieces. A piece is read when the reader has accepted the previous one and its time has come. The tape's reading
/// thread reads it, so that replays do not delay live readers.
final class Replays: Sendable {
    /// One reader's replay. Before it starts, only the code that prepares it uses it; after that, only the worker's thread.
    final class Play: @unchecked Sendable {
        fileprivate var number: UInt64 = 0
        /// When the budget for its pieces so far is used up.
        fileprivate var paidUp = Instant(nanoseconds: 0)
        let options: ReplayOptions
        /// The worker's queue for its pieces.
        fileprivate let queue: TapeWorker.Queue
        fileprivate var replay: TapeReplay
        fileprivate var pace: ReplayPace
        /// The event after which it could not switch to live events, and how often.
        fileprivate var refused: (id: EventID?, times: Int) = (nil, 0)

        init(_ options: ReplayOptions, _ replay: TapeReplay, _ queue: TapeWorker.Queue) {
            (self.options, self.replay, self.queue, pace) = (options, replay, queue, ReplayPace(speed: options.speed))
        }

        /// The first moment of the past; nil if nothing is on the tape yet.
        fileprivate var first: Int64? { if case .at(let from) = options.start { from } else { replay.firstAt } }

        /// The events that the request names and that are not on the tape yet.
        var ahead: [EventID] { replay.ahead }
    }

    private let worker: TapeWorker
    private let hub: EventHub
    private let plays = NIOLockedValueBox<[UInt64: Play]>([:])
    private let budget = NIOLockedValueBox(ReplayBudget())

    init(worker: TapeWorker, hub: EventHub) { (self.worker, self.hub) = (worker, hub) }

    /// Whether there is room for another replay. One caller may have half of the places at most.
    func hasRoom(for play: Play) -> Bool {
        let (isResume, queue) = (play.options.isResume, play.queue)
        return plays.withLockedValue { plays in
            let (all, most) = (plays.values.filter { $0.options.isResume == isResume }, isResume ? Self.mostResumes : Self.most)
            return all.count < most && all.count { $0.queue == queue } < most / TapeWorker.share
        }
    }

    /// Starts a replay. The first piece is sent when the reader is ready.
    func start(_ play: Play, for number: UInt64) {
        play.number = number
        plays.withLockedValue { $0[number] = play }
    }

    func stop(_ number: UInt64) { _ = plays.withLockedValue { $0.removeValue(forKey: number) } }

    /// Handles a reader that has accepted everything. Call it from any thread.
    func feed(_ number: UInt64) {
        guard let play = plays.withLockedValue({ $0[number] }) else { return }
        let queue = play.options.isResume ? TapeWorker.Queue.resuming : play.queue
        let lease = worker.perform(for: queue) { isLate in
            self.step(play, isLate)
            return true
        }
        if lease == nil { feed(number, in: Self.poll) }
    }

    /// Handles the fan-out's report whether a reader could switch to live events. It could not if the rings do not reach back to the end of the tape.
    func wentLive(_ number: UInt64, _ isLive: Bool) {
        guard !isLive else {
            stop(number)
            return hub.run { $0.wentLive(number) }
        }
        guard let play = plays.withLockedValue({ $0[number] }) else { return }
        worker.perform(for: play.options.isResume ? .resuming : play.queue) { _ in
            play.refused = play.refused.id == play.replay.last ? (play.refused.id, play.refused.times + 1) : (play.replay.last, 1)
            return true
        }
        feed(number, in: Self.poll)
    }

    private func feed(_ number: UInt64, in delay: TimeAmount) {
        hub.feed.loop.scheduleTask(in: delay) { self.feed(number) }
    }

    private func step(_ play: Play, _ isLate: () -> Bool) {
        guard plays.withLockedValue({ $0[play.number] }) != nil else { return }
        let now = Instant.current
        guard play.paidUp <= now else { return feed(play.number, in: .nanoseconds(play.paidUp.nanoseconds - now.nanoseconds)) }
        do throws(TapeError) {
            let due = play.pace.due(now, from: play.first)
            let (bytes, next) = try play.replay.next(until: due, atMost: Self.pieceBytes, isLate)
            guard bytes.isEmpty else {
                play.paidUp = budget.withLockedValue { $0.pay(bytes.count, now: now) }
                return hub.rings.post(.play(bytes), to: play.number)
            }
            switch next {
            case .piece: feed(play.number, in: .zero)
            case .later(let at): feed(play.number, in: play.pace.wait(at - due))
            case .nothing where play.options.end == nil:
                let last = play.refused.times < Self.mostRefusals ? play.replay.last : nil
                hub.run { $0.goLive(play.number, after: last) }
            case .nothing where isPast(play.options.end): end(play)
            case .nothing: feed(play.number, in: Self.poll)
            case .end: end(play)
            case .hole: hub.run { $0.goLive(play.number, after: nil) }
            }
        } catch {
            hub.end(play.number, code: "tape", reason: error.message)
        }
    }

    /// Whether everything up to this end is on the tape.
    private func isPast(_ end: TapeReplay.End?) -> Bool {
        switch end {
        case .at(let time): Moment.current.wallClock > time + Self.patience
        case .after, nil: false
        }
    }

    private func end(_ play: Play) {
        hub.end(play.number, code: "replayed", reason: "Replay finished.")
    }
}
