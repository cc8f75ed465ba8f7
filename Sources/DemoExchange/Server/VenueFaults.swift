import NIOCore
import NIOWebSocket

/// Applies faults to a ``Venue``, and answers the requests under `/control` that ask for them.
extension Venue {
    func inflict(_ fault: Fault) {
        switch fault {
        case .drop(let code, let bytes): drop(code, afterBytes: bytes)
        case .dropRandomly(let mean, let seed, let duration):
            scheduleCut(mean: mean, SeededGenerator(seed: seed))
            end(after: duration, of: "dropRandomly") { $0.randomCut?.cancel() }
        case .refuse(let duration):
            faults.refuses = true
            end(after: duration, of: "refuse") { $0.faults.refuses = false }
        case .stall(nil, let duration):
            faults.isStalled = true
            end(after: duration, of: "stall") { $0.faults.isStalled = false }
        case .stall(let streams?, let duration):
            faults.stalledStreams = Set(streams)
            end(after: duration, of: "stalled streams") { $0.faults.stalledStreams = [] }
        case .still(let duration):
            market?.isStill = true
            end(after: duration, of: "still") { $0.market?.isStill = false }
        case .halt(let symbols, let duration):
            halt(symbols)
            end(after: duration, of: "halt") { $0.halt([]) }
        case .forget(let streams): forget(streams)
        case .blackhole(let duration):
            faults.isBlackholed = true
            end(after: duration, of: "blackhole") { $0.openGates() }
        case .gap(let stream, let count): faults.add(.leaveOut, count: count, to: stream)
        case .duplicate(let stream, let count): faults.add(.double, count: count, to: stream)
        case .garbage(let text?, let stream): inject(text, to: stream)
        case .garbage(nil, let stream): if let stream { faults.add(.truncate, count: 1, to: stream) }
        case .rest(let fault, let path, let duration): setRESTFault(fault, path: path, duration: duration)
        case .rateLimit(let status, let retryAfter, let duration):
            setRESTFault(.limited(status, retryAfter, now: wallClock()), path: nil, duration: duration)
        case .restartIDs:
            bookLog.clear()
            market?.restartIDs()
        case .slowAck(let delay, let duration):
            faults.ackDelay = delay
            end(after: duration, of: "slowAck") { $0.faults.ackDelay = nil }
        case .serverShutdown(let delay):
            inject(#"{"e":"serverShutdown","E":\#(wallClock())}"#, to: nil)
            guard let delay else { return }
            end(after: delay, of: "serverShutdown") { $0.dropConnections(1_001) }
        }
    }

    /// Ends all faults.
    func clearFaults() {
        for ending in faultEndings.values { ending.cancel() }
        faultEndings = [:]
        randomCut?.cancel()
        faults = Faults()
        market?.isStill = false
        market?.halt([])
        for gate in gates.values { gate.cut(after: nil) }
        openGates()
    }

    private func halt(_ symbols: [String]) {
        market?.halt(Set(symbols))
        faults.haltedPrefixes = Set(symbols.map(asciiLowercased))
    }

    private func setRESTFault(_ fault: RESTFault, path: String?, duration: Duration?) {
        (faults.rest, faults.restPath) = (fault, path)
        end(after: duration, of: "rest") { $0.faults.rest = nil }
    }

    private func openGates() {
        faults.isBlackholed = false
        for gate in Array(gates.values) { gate.open() }
    }

    /// Runs `ending` after `duration`, unless the fault of this name is inflicted again or cleared before.
    private func end(after duration: Duration?, of name: String, _ ending: @escaping (Venue) -> Void) {
        faultEndings.removeValue(forKey: name)?.cancel()
        faultEndings[name] = duration.map { duration in
            loop.assumeIsolated().scheduleTask(in: TimeAmount(duration)) { [weak self] in
                self?.faultEndings[name] = nil
                if let self { ending(self) }
            }
        }
    }

    private func drop(_ code: UInt16?, afterBytes bytes: Int?) {
        ledger.update { $0.drops += 1 }
        guard code == nil else { return dropConnections(code) }
        for gate in Array(gates.values) {
            if let bytes { gate.cut(after: bytes) } else { gate.cut() }
        }
    }

    private func scheduleCut(mean: Duration, _ generator: SeededGenerator) {
        randomCut?.cancel()
        var generator = generator
        let wait = generator.exponential(mean: TimeAmount(mean).nanoseconds)
        randomCut = loop.assumeIsolated().scheduleTask(in: .nanoseconds(wait)) { [weak self] in
            guard let self else { return }
            let (kind, reach) = (generator.next() % 10, generator.chance(50) ? 256 : 65_536)
            let bytes = Int(generator.integer(in: 0...Int64(reach)))
            if !connections.isEmpty { drop(kind == 0 ? 1_001 : nil, afterBytes: kind < 5 ? nil : bytes) }
            scheduleCut(mean: mean, generator)
        }
    }

    /// The best levels of a book right after an update, see ``DemoExchange/trueLevels(symbol:at:)``; 404 if they are unknown.
    private func trueBook(_ query: [String: String]) -> RESTReply {
        guard let symbol = query["symbol"], let id = query["updateId"].flatMap({ UInt64($0) }), let book = bookLog.levels(symbol, at: id) else {
            return .failure(-1130, "No book of that symbol is remembered for that update.", status: 404, weight: nil)
        }
        let side: ([(String, String)]) -> String = { "[" + $0.map { #"["\#($0.0)","\#($0.1)"]"# }.joined(separator: ",") + "]" }
        return RESTReply(body: #"{"updateId":\#(id),"bids":\#(side(book.bids)),"asks":\#(side(book.asks))}"#)
    }

    /// The reply to a request under `/control`.
    func control(_ method: String, _ path: String, _ body: String) -> RESTReply {
        switch (method, path) {
        case ("GET", "/control/faults"):
            return RESTReply(body: #"{"faults":[\#(Fault.names.map(JSONValue.quoted).joined(separator: ","))]}"#)
        case ("POST", "/control/clear"):
            clearFaults()
            return RESTReply(body: "{}")
        case ("POST", "/control/fault"):
            do {
                inflict(try Fault(parsing: body))
                return RESTReply(body: "{}")
            } catch {
                return .failure(-1100, error.message, weight: nil)
            }
        case ("GET", "/control/statistics"):
            return RESTReply(body: ledger.statistics.json)
        case ("GET", _) where path.hasPrefix("/control/book?"):
            return trueBook(RESTTarget(path).query)
        default:
            let message =
                "Path \(path), Method \(method) is invalid; use GET /control/faults, POST /control/fault, POST /control/clear, "
                + "GET /control/statistics or GET /control/book?symbol=S&updateId=N"
            return .failure(-5000, message, status: 404, weight: nil)
        }
    }
}

extension RESTFault {
    /// The venues' answer to a client that exceeds its limit, or that is banned until the time in the text.
    fileprivate static func limited(_ status: Int, _ retryAfter: Int?, now: Int64) -> RESTFault {
        let until = now + Int64(retryAfter ?? 120) * 1_000
        let message =
            status == 418
            ? "Way too much request weight used; IP banned until \(until). Please use the websocket for live updates to avoid bans."
            : "Too many requests; current limit is 2400 request weight per minute."
        var headers = ["X-MBX-USED-WEIGHT-1M": "2401"]
        headers["Retry-After"] = retryAfter.map(String.init)
        return .status(status, body: #"{"code":-1003,"msg":\#(JSONValue.quoted(message))}"#, headers: headers)
    }
}
