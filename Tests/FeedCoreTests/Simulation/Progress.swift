@testable import FeedCore

/// How far one stream's values have come: they do not go back within a connection, messages that are counted are whole, and what is missing is
/// what the recover said.
struct Progress {
    /// The last message told, and the last one before the running or last outage.
    private var lastID: UInt64?
    private var lastIDBefore: UInt64?
    /// What the last recover said is missing before the next whole value.
    private var announced: Announcement? = .unknown
    /// What was told since that outage began.
    private var toldSince: Set<UInt64> = []
    private var newest: [String: Int64] = [:]
    private var tickerTimes: [String: Int64] = [:]
    private var tradesOfBars: [Int64: UInt64] = [:]
    private var liquidations: Set<String> = []

    private enum Announcement {
        case missed(UInt64?)
        /// The stream has not been live yet, or its outage could not be ended in time; nothing is said of what is missing.
        case unknown
    }

    mutating func beginGeneration() {
        newest = [:]
        tickerTimes = [:]
        tradesOfBars = [:]
        liquidations = []
    }

    mutating func beginOutage() {
        lastIDBefore = lastID
        toldSince = []
        announced = .unknown
    }

    mutating func recovered(_ recovery: FeedRecovery, _ name: FuturesServiceStreamName, _ verdict: Verdict) {
        if recovery.method == .backfill {
            verdict.expect(recovery.missed == 0, .recoverTellsTheCost, "\(name) is filled up, and \(recovery.missed ?? 0) are missing")
            announced = nil
        } else {
            announced = .missed(recovery.missed)
        }
    }

    mutating func take(_ content: FuturesServiceFeedContent, _ verdict: Verdict) {
        let name = content.streamName
        if case .aggregateTrade(let rows) = content.rows { take(rows, content, verdict) }
        // Before the subscription REST may be ahead of what its socket is going to bring.
        guard content.state == .live || content.source == .websocket else { return }
        switch content.rows {
        case .markPrice(let rows): for row in rows { expectRise(row.symbol, row.time, name, verdict) }
        case .bookTicker(let rows):
            for row in rows {
                guard let id = row.updateID else { continue }
                // A venue that counts anew while another line goes on: made later with a lower id.
                if let before = tickerTimes.updateValue(row.time, forKey: row.symbol), row.time > before { newest[row.symbol] = nil }
                expectRise(row.symbol, Int64(clamping: id), name, verdict)
            }
        case .kline(let rows):
            for bar in rows.suffix(2) {
                let known = tradesOfBars.updateValue(bar.tradeCount, forKey: bar.openTime) ?? 0
                verdict.expect(bar.tradeCount >= known, .noWayBack, "\(name): \(bar.openTime) goes back to \(bar.tradeCount) trades from \(known)")
            }
        case .liquidation(let rows):
            if content.kind == .full { liquidations = [] }
            for row in rows {
                let isNew = liquidations.insert("\(row.symbol) \(row.quantity)").inserted
                verdict.expect(isNew, .noneTwice, "\(name): liquidation \(row.quantity)")
            }
        default: break
        }
    }

    private mutating func expectRise(_ key: String, _ value: Int64, _ name: FuturesServiceStreamName, _ verdict: Verdict) {
        verdict.expect(value >= newest[key] ?? .min, .noWayBack, "\(name) goes back to \(value) from \(newest[key] ?? 0)")
        newest[key] = value
    }

    private mutating func take(_ rows: [AggregateTrade], _ content: FuturesServiceFeedContent, _ verdict: Verdict) {
        let before = lastID
        lastID = rows.last?.id ?? (content.kind == .full ? nil : lastID)
        guard let first = rows.first?.id, let last = rows.last?.id else { return }
        let name = content.streamName
        if content.kind == .delta {
            if content.state == .live { announced = nil } else { toldSince.formUnion(rows.map(\.id)) }
            verdict.expect(before.map { first == $0 + 1 } ?? true, .tradesAreWhole, "\(name): trade \(first) after \(before ?? 0)")
            return
        }
        guard content.state == .live else { return toldSince.formUnion(rows.map(\.id)) }
        defer { announced = nil }
        switch announced {
        case nil:
            guard let before else { return }
            verdict.expect(first <= before + 1 && last >= before, .tradesAreWhole, "\(name): trades \(first)…\(last) after \(before)")
        case .missed(let missed?):
            guard let lastIDBefore, first > lastIDBefore else {
                return verdict.expect(missed == 0, .recoverTellsTheCost, "\(name): none is missing before \(first)…\(last), not \(missed)")
            }
            let most = first - lastIDBefore - 1
            let least = most - UInt64(toldSince.count { $0 > lastIDBefore && $0 < first })
            verdict.expect(
                (least...most).contains(missed), .recoverTellsTheCost,
                "\(name): \(least) to \(most) are missing between \(lastIDBefore) and \(first)…\(last), not \(missed)")
        case .missed(nil):
            let canTell = lastIDBefore.map { $0 <= last } ?? false
            verdict.expect(!canTell, .recoverTellsTheCost, "\(name): what is missing between \(lastIDBefore ?? 0) and \(first)…\(last) is not told")
        case .unknown: break
        }
    }
}
