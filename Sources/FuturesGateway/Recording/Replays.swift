import EventLogs
import FuturesFeed
import NIOConcurrencyHelpers
import NIOCore
import Tape

/// What a request asks of the tape: from where, up to when, and how fast.
struct ReplayOptions: Sendable {
    let start: TapeReplay.Start
    /// Nil if the reader goes over into live.
    let end: TapeReplay.End?
    /// How many seconds of the past in a second; 0 for as fast as the reader takes them.
    let speed: Double
    /// Whether it is what a reader missed that comes back with an older id than the rings hold.
    var isResume = false

    static let fastest = 10_000.0
}

/// Plays the tape to readers, piece by piece: a piece is read when the reader has taken the one before and its time has come. It is read by the thread of
/// the tape's requests, so readers of the past delay nobody who reads the present.
final class Replays: Sendable {
    /// What is played to one reader. Before it starts, whoever prepares it uses it alone; then the desk's thread.
    final class Play: @unchecked Sendable {
        fileprivate var number: UInt64 = 0
        /// When the pieces that it was given are paid for.
        fileprivate var paidUp = Instant(nanoseconds: 0)
        let options: ReplayOptions
        /// Whose turns its pieces take at the desk.
        fileprivate let queue: TapeDesk.Queue
        fileprivate var replay: TapeReplay
        /// When what instant of the past was due; nil before the first piece.
        fileprivate var began: (now: Instant, past: Int64)?
        /// The event behind which it could not go over into live, and how often.
        fileprivate var refused: (id: EventID?, times: Int) = (nil, 0)

        init(_ options: ReplayOptions, _ replay: TapeReplay, _ queue: TapeDesk.Queue) {
            (self.options, self.replay, self.queue) = (options, replay, queue)
        }

        /// The events that the request names and that are behind those on the tape.
        var ahead: [EventID] { replay.ahead }
    }

    private let desk: TapeDesk
    private let hub: EventHub
    private let plays = NIOLockedValueBox<[UInt64: Play]>([:])
    private let budget = NIOLockedValueBox(ReplayBudget())

    private static let most = 32
    /// How many readers may get what they missed.
    private static let mostResumes = 128
    /// The thread that serves readers of the present sends pieces too, and they wait for it meanwhile.
    private static let pieceBytes = 32 << 10
    private static let poll = TimeAmount.milliseconds(200)
    /// How often a reader is refused who has everything that is on the tape, before it begins with new values.
    private static let mostRefusals = 50

    init(desk: TapeDesk, hub: EventHub) { (self.desk, self.hub) = (desk, hub) }

    /// Whether there may be another reader: one caller has half of the places at most.
    func hasRoom(for play: Play) -> Bool {
        let (isResume, queue) = (play.options.isResume, play.queue)
        return plays.withLockedValue { plays in
            let (all, most) = (plays.values.filter { $0.options.isResume == isResume }, isResume ? Self.mostResumes : Self.most)
            return all.count < most && all.count { $0.queue == queue } < most / TapeDesk.share
        }
    }

    /// Begins. The first piece is given out once the reader is hungry.
    func start(_ play: Play, for number: UInt64) {
        play.number = number
        plays.withLockedValue { $0[number] = play }
    }

    func stop(_ number: UInt64) { _ = plays.withLockedValue { $0.removeValue(forKey: number) } }

    /// The reader has taken everything. Call it from any thread.
    func feed(_ number: UInt64) {
        guard let play = plays.withLockedValue({ $0[number] }) else { return }
        let queue = play.options.isResume ? TapeDesk.Queue.resuming : play.queue
        let lease = desk.perform(for: queue) { isLate in
            self.step(play, isLate)
            return true
        }
        if lease == nil { feed(number, in: Self.poll) }
    }

    /// The rings do not reach back to where the tape ends.
    func refuse(_ number: UInt64) {
        guard let play = plays.withLockedValue({ $0[number] }) else { return }
        desk.perform(for: play.options.isResume ? .resuming : play.queue) { _ in
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
        let now = Moment.current.instant
        guard play.paidUp <= now else { return feed(play.number, in: .nanoseconds(play.paidUp.nanoseconds - now.nanoseconds)) }
        do throws(TapeError) {
            let due = due(play)
            let (bytes, next) = try play.replay.next(until: due, atMost: Self.pieceBytes, isLate)
            guard bytes.isEmpty else {
                play.paidUp = budget.withLockedValue { $0.pay(bytes.count, now: now) }
                return hub.rings.post(.play(number: play.number, bytes), to: play.number)
            }
            switch next {
            case .piece: feed(play.number, in: .zero)
            case .later(let at): feed(play.number, in: wait(play, Double(at - due)))
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

    /// How long after an instant everything is on the tape that was received before it, ms.
    private static let patience: Int64 = 3000

    /// Whether everything up to this end is on the tape.
    private func isPast(_ end: TapeReplay.End?) -> Bool {
        switch end {
        case .at(let time): Moment.current.wallClock > time + Self.patience
        case .after, nil: false
        }
    }

    private func end(_ play: Play) {
        hub.end(play.number, code: "replayed", reason: "This was what was asked for.")
    }

    /// Up to which instant of the past the reader may know everything now.
    private func due(_ play: Play) -> Int64 {
        guard play.options.speed > 0 else { return .max }
        let now = Moment.current.instant
        guard let began = play.began else {
            let first: Int64? = if case .at(let from) = play.options.start { from } else { play.replay.firstAt }
            guard let first else { return .max }
            play.began = (now, first)
            return first
        }
        let passed = Double(now.nanoseconds - began.now.nanoseconds) / 1_000_000
        return began.past + Int64(min(passed * play.options.speed, 1e15))
    }

    private func wait(_ play: Play, _ milliseconds: Double) -> TimeAmount {
        .nanoseconds(Int64(min(max(milliseconds / play.options.speed, 1), 1000) * 1_000_000))
    }
}
