import Foundation
import Testing

@testable import FeedCore

/// Several lines to the venue: while one of them delivers, readers see nothing of what befalls the others.
@Suite struct LinesTests {
    private static let all: Set<FuturesServiceStreamName.Channel> = [
        .depth, .bookTicker, .aggregateTrade, .kline, .liquidation, .markPrice, .partialDepth,
    ]

    private func run(_ script: Script, seed: UInt64 = 1) -> Simulation {
        let simulation = Simulation(seed: seed, trace: Trace(isWhole: false), script: script)
        simulation.run()
        if simulation.verdict.broken != nil { Issue.record("\(simulation.report)") }
        return simulation
    }

    /// What readers were told besides data, once the streams were live.
    private func alarms(_ simulation: Simulation) -> [String] {
        simulation.told.compactMap { at, event in
            guard at > .seconds(20), at < simulation.script?.duration ?? .max else { return nil }
            return switch event.kind {
            case .updated, .fetched, .ended: nil
            case .connected, .disconnected, .recovered, .failed, .status: "\(at / 1_000_000) ms: \(event.stream) \(event.kind)"
            }
        }
    }

    /// The open connections that share the streams of the first one of the path, if all of them have everything and nothing is wrong with any.
    private static func soundLines(_ simulation: Simulation, endpoint: Int) -> [ConnectionID] {
        let lines = simulation.core.connections.filter { $0.endpoint == endpoint && $0.phase == .open }
        let streams = Set(lines.flatMap { $0.membersByIndex.keys })
        let isSound = lines.allSatisfy { line in
            guard let wire = simulation.venue.wire(line.id) else { return false }
            let (mood, fault) = (simulation.venue.wires[wire].mood, simulation.venue.wires[wire].fault)
            return streams.isSubset(of: line.standingSince.keys) && mood == .healthy && fault == nil
        }
        return isSound && lines.count == simulation.script?.lines ? lines.map(\.id) : []
    }

    /// The least number of faults of one line. The optimized build of `make simulate` has time for a thousand.
    private static let leastFaults = ProcessInfo.processInfo.environment["FAULTS"].flatMap { Int($0) } ?? 300

    @Test(arguments: [2, 3]) func hundredsOfFaultsOfOneLineAtATimeCannotBeSeen(lines: Int) {
        var faults = 0
        let fail: (Simulation) -> Void = { simulation in
            var dice = Dice(seed: UInt64(simulation.queue.now))
            let lines = [0, 1].map { Self.soundLines(simulation, endpoint: $0) }.filter { !$0.isEmpty }
            guard let id = dice.pick(dice.pick(lines) ?? []), let place = simulation.venue.wire(id) else { return }
            faults += 1
            switch dice.below(8) {
            case 0: simulation.venue.cut(id)
            case 1: simulation.venue.wires[place].mood = .stalled
            case 2: simulation.venue.wires[place].mood = .blackHole
            case 3: simulation.venue.wires[place].fault = .drop
            case 4: simulation.venue.wires[place].fault = .duplicate
            case 5: simulation.venue.wires[place].fault = .reorder
            case 6: simulation.venue.wires[place].fault = .delay(.ms(200))
            default: simulation.venue.wires[place].fault = .throttle(.ms(50))
            }
        }
        // A fault of messages ends before the next one begins.
        let heal: (Simulation) -> Void = { simulation in
            for place in simulation.venue.wires.indices { simulation.venue.wires[place].fault = nil }
        }
        let acts = (0..<2 * Self.leastFaults).flatMap { number -> [(at: Nanoseconds, act: (Simulation) -> Void)] in
            let at = Nanoseconds.seconds(Int64(30 + 4 * number))
            return [(at, fail), (at + .seconds(3), heal)]
        }
        let simulation = run(
            Script(
                channels: Self.all, duration: .seconds(Int64(100 + 8 * Self.leastFaults)), pause: .ms(20)...Nanoseconds.ms(200), lines: lines,
                acts: acts))
        #expect(alarms(simulation) == [])
        #expect(faults >= Self.leastFaults)
        #expect(simulation.core.counters.holesFilledByLines > Self.leastFaults / 20)
    }

    @Test func aHoleOnOneLineIsFilledByTheOtherWithoutAQuestion() {
        let drop: (Simulation) -> Void = { simulation in
            guard let id = Self.soundLines(simulation, endpoint: 0).first, let place = simulation.venue.wire(id) else { return }
            simulation.venue.wires[place].fault = .drop
        }
        let simulation = run(
            Script(channels: [.aggregateTrade], duration: .seconds(120), pause: .ms(20)...Nanoseconds.ms(200), lines: 2, acts: [(.seconds(30), drop)])
        )
        #expect(alarms(simulation) == [])
        #expect(simulation.core.counters.holesFilledByLines > 2)
        #expect(simulation.core.counters.backfilledMessages == 0)
    }

    @Test func aHoleThatNoLineFillsIsFetchedSoon() {
        let endpoint = { (simulation: Simulation) in simulation.venue.wires.indices.filter { simulation.venue.wires[$0].endpoint == 0 } }
        // One line answers pings and brings nothing more, the other loses messages.
        let stall: (Simulation) -> Void = { simulation in
            for place in endpoint(simulation).prefix(1) { simulation.venue.wires[place].mood = .stalled }
            for place in endpoint(simulation).dropFirst() { simulation.venue.wires[place].fault = .drop }
        }
        var fetched: UInt64 = 0
        let look: (Simulation) -> Void = { fetched = $0.core.counters.backfilledMessages }
        let simulation = run(
            Script(
                channels: [.aggregateTrade], duration: .seconds(60), pause: .ms(20)...Nanoseconds.ms(100), lines: 2,
                acts: [(.seconds(30), stall), (.seconds(32), look)]))
        #expect(fetched > 0)
        #expect(simulation.core.counters.missedMessages == 0)
    }

    @Test func ofSeveralValuesOfOneMillisecondEachIsToldOnceAndInOrder() {
        let lag: (Simulation) -> Void = { simulation in
            simulation.venue.marksAtOnce = 3
            for id in Self.soundLines(simulation, endpoint: 0).prefix(1) {
                if let place = simulation.venue.wire(id) { simulation.venue.wires[place].fault = .delay(.ms(50)) }
            }
        }
        let simulation = run(
            Script(channels: [.markPrice], duration: .seconds(60), pause: Script.busy, lines: 2, acts: [(.seconds(30), lag)]))
        // Each as its time and its place among those of that time.
        let told = simulation.told.flatMap { at, event -> [(time: Int64, number: String)] in
            guard at > .seconds(31), case .updated(let content) = event.kind, case .markPrice(let rows) = content.rows else { return [] }
            return rows.compactMap { row in row.indexPrice.map { (row.time, $0.text) } }
        }
        #expect(told.count > 60 && told.count == Set(told.map(\.time)).count * 3)
        #expect(zip(told, told.dropFirst()).allSatisfy { ($0.time, $0.number) < ($1.time, $1.number) })
    }

    @Test func theLossOfTheLastLineIsToldOnce() {
        let cut: (Simulation) -> Void = { $0.venue.cutAll() }
        let simulation = run(
            Script(channels: [.aggregateTrade, .depth], duration: .seconds(120), pause: Script.busy, lines: 2, acts: [(.seconds(30), cut)]))
        for channel in [FuturesServiceStreamName.Channel.aggregateTrade, .depth] {
            let told = simulation.told.filter { $0.at > .seconds(20) && $0.at < .seconds(120) && $0.event.stream.channel == channel }.map(
                \.event.kind)
            let losses = told.count { if case .disconnected = $0 { true } else { false } }
            let recoveries = told.count { if case .recovered = $0 { true } else { false } }
            let streams = Set(simulation.told.filter { $0.event.stream.channel == channel }.map(\.event.stream)).count
            #expect(losses == streams && recoveries == streams, "\(channel)")
        }
    }

    @Test func aLineThatComesBackIsNotBlamedForWhatCameBefore() {
        let cut: (Simulation) -> Void = { simulation in
            if let id = Self.soundLines(simulation, endpoint: 0).first { simulation.venue.cut(id) }
        }
        var replaced: UInt64?
        let look: (Simulation) -> Void = { replaced = $0.core.counters.linesReplaced }
        let acts = (0..<20).map { (at: Nanoseconds.seconds(30 + 30 * $0), act: cut) } + [(.seconds(635), look)]
        let simulation = run(
            Script(channels: Self.all, duration: .seconds(640), pause: .ms(5)...Nanoseconds.ms(20), lines: 2, acts: acts))
        #expect(alarms(simulation) == [])
        #expect(replaced == 0)
    }

    @Test func aHoleOfAFreshLineWaitsForALateOneThatGoesOn() {
        let lag: (Simulation) -> Void = { simulation in
            for id in Self.soundLines(simulation, endpoint: 0).prefix(1) {
                if let place = simulation.venue.wire(id) { simulation.venue.wires[place].fault = .delay(.ms(800)) }
            }
        }
        let cut: (Simulation) -> Void = { simulation in
            let late = simulation.venue.wires.first { $0.fault != nil }?.id
            if let wire = simulation.venue.wires.first(where: { $0.endpoint == 0 && $0.isOpen && $0.id != late }) { simulation.venue.cut(wire.id) }
        }
        let simulation = run(
            Script(
                channels: [.aggregateTrade], duration: .seconds(60), pause: .ms(20)...Nanoseconds.ms(100), lines: 2,
                acts: [(.seconds(30), lag), (.seconds(31), cut)]))
        #expect(alarms(simulation) == [])
    }

    @Test func whatIsOnItsWayOnALineThatIsLostIsNotMissingInSilence() {
        for seed in 1...UInt64(16) { #expect(isTrueAfterTheLossOfALateLine(seed: seed) == true, "seed \(seed)") }
    }

    /// Whether a price is not called live, or is the venue's, after a late line was lost just when another one had come; nil if none was lost.
    private func isTrueAfterTheLossOfALateLine(seed: UInt64) -> Bool? {
        var late: ConnectionID?
        let lag: (Simulation) -> Void = { simulation in
            for id in Self.soundLines(simulation, endpoint: 1) {
                guard late == nil, let place = simulation.venue.wire(id) else {
                    simulation.venue.cut(id)
                    continue
                }
                simulation.venue.wires[place].fault = .delay(.ms(500))
                late = id
            }
        }
        // The market stops when the other line is back, and the late one is lost with what it has still to bring.
        var lostAt: Nanoseconds?
        let lose: (Simulation) -> Void = { simulation in
            let other = simulation.core.connections.last { $0.endpoint == 1 && $0.phase == .open && $0.openedAt.nanoseconds > .seconds(30) }
            guard lostAt == nil, let late, let other else { return }
            simulation.venue.isFrozen = true
            guard !other.standingSince.isEmpty else { return }
            simulation.venue.cut(late)
            lostAt = simulation.queue.now
        }
        // All of it would have come by now, and the silence is not doubted yet.
        var isTrue: Bool?
        let look: (Simulation) -> Void = { simulation in
            let name = FuturesServiceStreamName.bookTicker(symbol: simulation.venue.markets[0].symbol)
            guard let at = lostAt, at + .ms(600) <= simulation.queue.now, isTrue == nil, let content = simulation.core.content(of: name),
                case .bookTicker(let rows) = content.rows, let told = rows.first,
                let truth = simulation.venue.markets[0].bookTicker(isREST: false)
            else { return }
            isTrue =
                content.state != .live
                || told.bidPrice == truth.bidPrice && told.askPrice == truth.askPrice
                    && told.bidQuantity == truth.bidQuantity && told.askQuantity == truth.askQuantity
        }
        let watch: (Simulation) -> Void = { simulation in
            lose(simulation)
            look(simulation)
        }
        let polls = (1...1000).map { (at: Nanoseconds.seconds(30) + .ms(5 * $0), act: watch) }
        _ = run(
            Script(
                channels: [.bookTicker], duration: .seconds(120), pause: .ms(5)...Nanoseconds.ms(20), lines: 2,
                acts: [(.seconds(30), lag)] + polls), seed: seed)
        return isTrue
    }

    @Test func aLineThatAlwaysLagsIsReplacedAndNobodySees() {
        let lag: (Simulation) -> Void = { simulation in
            guard let id = Self.soundLines(simulation, endpoint: 0).first, let place = simulation.venue.wire(id) else { return }
            simulation.venue.wires[place].fault = .delay(.ms(420))
        }
        let simulation = run(
            Script(
                channels: [.aggregateTrade, .kline], duration: .seconds(120), pause: .ms(20)...Nanoseconds.ms(200), lines: 2,
                acts: [(.seconds(30), lag)]))
        #expect(alarms(simulation) == [])
        #expect(simulation.core.feed.pool.lastConnectionID >= 3, "it is replaced")
        #expect(simulation.venue.wires.allSatisfy { $0.fault == nil }, "and left")
    }
}
