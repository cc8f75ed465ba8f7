/// What can go wrong. Each seed draws which of them do, and how often.
enum Fault: Int, CaseIterable {
    case refuseConnection, hangConnection, cut, cutAll, stall, blackHole, cutAfterSubscribe
    case ban, banWithoutWord, serverError, timeOut, malformedAnswer, otherAnswer, refusedAnswer, otherUsers, slowAnswer, oldAnswer, crossedAnswer,
        laggingAnswer
    case dropDepth, corruptDepth, duplicate, replay, malformedFrame, lostFrame, otherData, crossedDepth
    case muteSubscription, refuseSubscription, lateAcknowledgement, dataBeforeAcknowledgement
    case restart, outage, acceptAndCut, burst, dropTrade, goingAway
    case settle, relist, listingFails, listingCut, deadHost, deadRESTHost
    case farAhead
    case ignoreSubscription
}

/// How often each fault comes in one run: a probability per occasion, or a weight for those the clock brings.
struct FaultPlan {
    /// Those that come by the clock, and what they weigh.
    static let timed: [Fault] = [
        .cut, .cutAll, .stall, .blackHole, .ban, .banWithoutWord, .restart, .outage, .acceptAndCut, .burst, .slowAnswer, .goingAway,
        .settle, .relist, .listingFails, .listingCut, .deadHost, .deadRESTHost,
    ]

    private var weights = [Double](repeating: 0, count: Fault.allCases.count)
    /// The mean time between two timed faults.
    let interval: Nanoseconds
    private(set) var isOver = false
    /// How often each has come.
    private(set) var counts = [Int](repeating: 0, count: Fault.allCases.count)

    init(_ dice: inout Dice) {
        interval = .ms(dice.spread(2_000, 30_000))
        let share = Double(dice.between(1, 8)) / 10
        for fault in Fault.allCases where dice.chance(share) { weights[fault.rawValue] = Self.most(fault) / Double(1 << dice.below(5)) }
    }

    /// The highest probability of a fault per occasion (a frame, a request, a subscription, a connection), or its weight by the clock.
    private static func most(_ fault: Fault) -> Double {
        switch fault {
        case .refuseConnection: 0.6
        case .hangConnection: 0.2
        case .cutAfterSubscribe: 0.4
        case .serverError, .timeOut, .malformedAnswer: 0.3
        case .otherAnswer, .crossedAnswer: 0.05
        case .refusedAnswer: 0.3
        case .oldAnswer: 0.4
        case .laggingAnswer: 0.3
        case .otherUsers: 0.1
        case .muteSubscription: 0.1
        case .corruptDepth: 0.05
        case .dropDepth: 0.03
        case .dropTrade: 0.02
        case .duplicate, .lostFrame: 0.03
        case .malformedFrame: 0.03
        case .otherData, .crossedDepth: 0.01
        case .replay: 0.8
        case .refuseSubscription, .ignoreSubscription: 0.1
        case .lateAcknowledgement: 0.6
        case .dataBeforeAcknowledgement: 1
        case .settle, .deadHost, .deadRESTHost: 0.3
        case .cut, .cutAll, .stall, .blackHole, .ban, .banWithoutWord, .restart, .outage, .acceptAndCut, .burst, .slowAnswer, .goingAway: 1
        case .relist, .listingFails, .listingCut: 1
        case .farAhead: 0.02
        }
    }

    mutating func occurs(_ fault: Fault, _ dice: inout Dice) -> Bool {
        guard !isOver, dice.chance(weights[fault.rawValue]) else { return false }
        counts[fault.rawValue] += 1
        return true
    }

    /// The next fault of the clock; nil where the plan has none.
    mutating func draw(_ dice: inout Dice) -> Fault? {
        guard let fault = choose(&dice) else { return nil }
        counts[fault.rawValue] += 1
        return fault
    }

    private func choose(_ dice: inout Dice) -> Fault? {
        let enabled = Self.timed.filter { weights[$0.rawValue] > 0 }
        let total = enabled.reduce(0) { $0 + weights[$1.rawValue] }
        var left = Double(dice.below(1_000_000)) / 1_000_000 * total
        for fault in enabled {
            left -= weights[fault.rawValue]
            if left < 0 { return fault }
        }
        return enabled.last
    }

    mutating func leaveOut(_ fault: Fault) { weights[fault.rawValue] = 0 }

    mutating func end() { isOver = true }

    /// A plan without faults.
    init() {
        interval = .seconds(1_000_000)
        isOver = true
    }
}
