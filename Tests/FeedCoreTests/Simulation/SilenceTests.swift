import Testing

@testable import FeedCore

/// Silence that means something is told in time, and silence that means nothing is not told at all.
@Suite struct SilenceTests {
    private static let events: Set<FuturesServiceStreamName.Channel> = [.depth, .bookTicker, .aggregateTrade, .kline, .liquidation]

    /// Every socket answers pings and brings nothing more.
    private static func stall(_ simulation: Simulation) {
        for place in simulation.venue.wires.indices { simulation.venue.wires[place].mood = .stalled }
    }

    /// A fault of the venue begins, or ends, and REST is away for as long.
    private static func set(_ fault: ReferenceWritableKeyPath<SimulatedVenue, Bool>, _ isOn: Bool) -> (Simulation) -> Void {
        { simulation in
            simulation.venue[keyPath: fault] = isOn
            simulation.venue.deadRESTHost = isOn ? 0 : nil
        }
    }

    private func run(_ script: Script) -> Simulation {
        let simulation = Simulation(seed: 1, trace: Trace(isWhole: false), script: script)
        simulation.run()
        if simulation.verdict.broken != nil { Issue.record("\(simulation.report)") }
        return simulation
    }

    /// What readers were told besides data, once the streams were live.
    private func alarms(_ simulation: Simulation) -> [String] {
        simulation.told.compactMap { at, event in
            guard at < simulation.script?.duration ?? .max else { return nil }
            return switch event.kind {
            case .updated, .fetched, .ended: nil
            case .connected: at < .seconds(60) ? nil : "\(at) \(event.stream) \(event.kind)"
            // A market without a single trade is asked about again for a minute.
            case .failed(let error, _) where at < .seconds(65) && error.message.contains("empty list"): nil
            case .disconnected, .recovered, .failed, .status: "\(at) \(event.stream) \(event.kind)"
            }
        }
    }

    /// When each stream was told to be anything but live after a moment.
    private func alarmed(_ simulation: Simulation, after begin: Nanoseconds) -> [FuturesServiceStreamName.Channel: Nanoseconds] {
        var times: [FuturesServiceStreamName.Channel: Nanoseconds] = [:]
        for (at, event) in simulation.told where at > begin {
            switch event.kind {
            case .disconnected, .status(.stale, _, _), .status(.recovering, _, _):
                times[event.stream.channel] = min(times[event.stream.channel] ?? .max, at)
            default: break
            }
        }
        return times
    }

    @Test func anHourOfAQuietMarketRaisesNoAlarm() {
        let simulation = run(Script(channels: Self.events.union([.markPrice, .partialDepth]), duration: .seconds(3600), pause: Script.quiet))
        #expect(alarms(simulation) == [])
        #expect(simulation.told.count > 3600, "the mark price came every second")
    }

    @Test func aDayInWhichNearlyNothingHappensRaisesNoAlarmNotEvenWhereConnectionsAreReplaced() {
        let simulation = run(Script(channels: Self.events, duration: .seconds(24 * 3600), pause: .seconds(200)...Nanoseconds.seconds(2000)))
        #expect(alarms(simulation) == [])
        #expect(simulation.core.feed.pool.lastConnectionID >= 4, "two connections, each replaced for its age at least")
    }

    @Test func sixtyRotationsOfBusyConnectionsCannotBeSeen() {
        let all = Self.events.union([.markPrice, .partialDepth])
        let simulation = run(Script(channels: all, duration: .seconds(4100), pause: Script.busy, rotateAfter: .seconds(60)))
        #expect(alarms(simulation) == [])
        #expect(simulation.core.feed.pool.lastConnectionID >= 120)
    }

    @Test func rotationsInTheMidstOfAStormCannotBeSeen() {
        let storm = Nanoseconds.ms(3)...Nanoseconds.ms(30)
        let simulation = run(Script(channels: [.depth, .aggregateTrade], duration: .seconds(300), pause: storm, rotateAfter: .seconds(5)))
        #expect(alarms(simulation) == [])
        #expect(simulation.core.feed.pool.lastConnectionID >= 60)
    }

    @Test func aSubscriptionThatIsAcknowledgedAndGivesNothingIsToldWithinItsPatience() {
        let simulation = run(
            Script(
                channels: [.markPrice], duration: .seconds(300), pause: Script.busy,
                acts: [(0, Self.set(\.mutesAll, true)), (.seconds(100), Self.set(\.mutesAll, false))]))
        let failed = simulation.told.first { if case .status(.failed, _, _) = $0.event.kind { true } else { false } }
        #expect(failed?.at ?? .max <= .seconds(5) + simulation.staleAfter.nanoseconds + .seconds(3))
    }

    @Test func aFrozenVenueIsToldWithinTheConfiguredSilence() {
        let froze: Nanoseconds = .seconds(100)
        let freeze: (Simulation) -> Void = { simulation in
            for place in simulation.venue.wires.indices { simulation.venue.wires[place].mood = .blackHole }
            simulation.venue.downUntil = simulation.queue.now + .seconds(60)
        }
        let simulation = run(
            Script(channels: Self.events.union([.markPrice]), duration: .seconds(400), pause: Script.busy, acts: [(froze, freeze)]))
        let told = alarmed(simulation, after: froze)
        let silence = simulation.configuration.deadAfter.nanoseconds
        for channel in Self.events { #expect(told[channel, default: .max] <= froze + .seconds(1) + silence + .seconds(3), "\(channel)") }
        #expect(told[.markPrice, default: .max] <= froze + .seconds(1) + simulation.staleAfter.nanoseconds + .seconds(3))
    }

    @Test func aVenueThatAnswersPingsAndSendsNothingIsToldWhereDataIsDue() {
        let stalled: Nanoseconds = .seconds(100)
        let simulation = run(Script(channels: [.markPrice], duration: .seconds(300), pause: Script.busy, acts: [(stalled, Self.stall)]))
        let told = alarmed(simulation, after: stalled)
        #expect(told[.markPrice, default: .max] <= stalled + .seconds(1) + simulation.staleAfter.nanoseconds + .seconds(3))
        #expect(simulation.core.feed.pool.lastConnectionID > 1, "and it is moved to a socket that lives")
    }

    @Test func aVenueThatRepeatsItselfIsToldAsASilentOne() {
        let began: Nanoseconds = .seconds(100)
        let acts = [(at: began, act: Self.set(\.repeatsItself, true)), (at: .seconds(160), act: Self.set(\.repeatsItself, false))]
        let simulation = run(Script(channels: [.markPrice], duration: .seconds(300), pause: Script.busy, acts: acts))
        let told = alarmed(simulation, after: began)
        #expect(told[.markPrice, default: .max] <= began + .seconds(1) + simulation.staleAfter.nanoseconds + .seconds(3))
    }

    @Test func aSocketTheVenueForgotIsLeftAndWhatItLostIsTold() {
        let stalled: Nanoseconds = .seconds(100)
        let channels: Set<FuturesServiceStreamName.Channel> = [.depth, .aggregateTrade]
        let simulation = run(Script(channels: channels, duration: .seconds(300), pause: Script.busy, acts: [(stalled, Self.stall)]))
        let told = alarmed(simulation, after: stalled)
        let patience = simulation.configuration.quietAfter.nanoseconds + simulation.configuration.pingInterval.nanoseconds
        for channel in channels { #expect(told[channel, default: .max] <= stalled + patience + .seconds(3), "\(channel)") }
    }

    @Test func aStreamThatStallsForAMinuteIsLostOnceAndBackOnceWhateverRESTSaysMeanwhile() {
        let stall: (Simulation) -> Void = { simulation in
            simulation.venue.mutesAll = true
            Self.stall(simulation)
        }
        let heal: (Simulation) -> Void = { simulation in
            simulation.venue.mutesAll = false
            for place in simulation.venue.wires.indices { simulation.venue.wires[place].mood = .healthy }
        }
        let channels: Set<FuturesServiceStreamName.Channel> = [.depth, .bookTicker, .kline]
        let acts = [(at: Nanoseconds.seconds(100), act: stall), (at: Nanoseconds.seconds(160), act: heal)]
        let simulation = run(Script(channels: channels, duration: .seconds(300), pause: Script.busy, acts: acts))
        for name in simulation.venue.streams.map(\.name) where channels.contains(name.channel) {
            let kinds = simulation.told.filter { $0.at > .seconds(100) && $0.event.stream == name }.map(\.event.kind)
            #expect(kinds.count { if case .status(.stale, _, _) = $0 { true } else { false } } == 1, "\(name)")
            #expect(kinds.count { if case .recovered = $0 { true } else { false } } == 1, "\(name)")
        }
    }

    @Test func aBookThatCannotBeBuiltForAnHourHoldsBackNoMoreThanItsBound() {
        let lose: (Simulation) -> Void = { simulation in
            simulation.venue.deadRESTHost = 0
            simulation.venue.cutAll()
        }
        let checks = (1...60).map { (at: Nanoseconds.seconds($0 * 60), act: { (simulation: Simulation) in simulation.checkMemory() }) }
        let heal: (Simulation) -> Void = { $0.venue.deadRESTHost = nil }
        let acts = [(.seconds(10), lose)] + checks + [(.seconds(3600), heal)]
        let simulation = run(Script(channels: [.depth], duration: .seconds(3700), pause: .ms(100)...Nanoseconds.ms(300), acts: acts))
        #expect(alarms(simulation).contains { $0.contains("recover") })
    }
}
