import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Replication
import Rings
import Tape

/// `/tape`, and snapshots of the past from the tape.
struct TapeHandlers: Sendable {
    let hub: EventHub
    let tape: Tape?
    let worker: TapeWorker?
    let replays: Replays?
    let configuration: TapeConfiguration?

    /// `GET /tape`
    func overview(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        read(responder, caller) { (reader, _) throws(TapeError) in
            let (extent, gaps) = (reader.extent(), try reader.gaps())
            let reading = tape?.reading
            var writer = JSONWriter()
            writer.object { json in
                json.member("from", orNull: extent?.firstAt)
                json.member("to", orNull: extent?.lastAt)
                json.member("bytes", Int64(reading?.bytes ?? 0))
                json.member("recording", reading.map { $0.trouble == nil } ?? false)
                json.member("gaps")
                json.array { json in
                    for gap in gaps.suffix(1000) {
                        json.object {
                            $0.member("from", gap.from)
                            $0.member("to", gap.to)
                            $0.member("reason", gap.reason.rawValue)
                            if let events = gap.events { $0.member("events", Int64(clamping: events)) }
                            $0.member("detail", gap.detail)
                        }
                    }
                }
            }
            return StreamHandlers.json(200, writer.bytes)
        }
    }

    /// `GET /tape/{name}`
    func lines(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let name = try recordedStream(request, caller)
        let (from, to) = (try request.time("from"), try request.time("to"))
        let text = request.query("after")
        let after = text.flatMap { EventID($0) }
        guard text == nil || after != nil else {
            throw Problems.badParameter("after", "must be an event's id from the Link of an earlier response.")
        }
        if let from, let to, from > to { throw Self.backwards }
        let (work, isGzip) = (PartialWork<TapePage>(), request.acceptsGzip)
        read(responder, caller) { (reader, isLate) throws(TapeError) in
            if work.value == nil {
                if after == nil, let from, let first = reader.extent()?.firstAt, from < first { return Self.agedOut(first).response }
                work.value = try TapePage(reader, of: name, from: from, to: to, after: after)
            }
            guard let isDone = try work.value?.step(isLate) else { return Self.notOnTape(reader.extent()?.firstAt).response }
            return isDone ? work.value?.response(isGzip: isGzip) : nil
        }
    }

    /// `GET /streams/{name}?at=`
    func snapshot(_ request: HTTPRequest, at: Int64, _ responder: HTTPResponder, _ caller: Access.Caller) throws(HTTPProblem) {
        let name = try recordedStream(request, caller)
        for other in ["wait", "maxAge", "maxUnverified", "depth"] where request.query(other) != nil {
            throw Problems.badParameter(other, "cannot be combined with at, because it limits the age of current values.")
        }
        let (dialect, work) = (hub.feed.dialect, PartialWork<PastReading>())
        read(responder, caller) { (reader, isLate) throws(TapeError) in
            if work.value == nil {
                guard let extent = reader.extent(), at <= extent.lastAt else { return Self.notYet.response }
                guard at >= extent.firstAt else { return Self.agedOut(extent.firstAt).response }
                work.value = try PastReading(reader, of: [name], at: at, reach: TapeFeeder.reach) { dialect.traits(of: $0)?.limit ?? 1000 }
            }
            guard try work.value?.step(isLate) == true else { return nil }
            guard let content = work.value?.content(of: name) else { return Self.nothingThen(name).response }
            return StreamHandlers.json(200, ContentEncoder.event(content))
        }
    }

    /// Prepares a replay. Calls back once with the replay, or with the response that says why there is none. It does not call back if the client
    /// disconnects first.
    func prepare(
        _ options: ReplayOptions, of names: [FuturesServiceStreamName], _ format: EventFormat, _ responder: HTTPResponder,
        _ caller: Access.Caller, _ done: @escaping @Sendable (Result<Replays.Play, HTTPProblem>) -> Void
    ) {
        if let problem = names.lazy.compactMap(problem).first { return done(.failure(problem)) }
        let (dialect, work, queue) = (hub.feed.dialect, PartialWork<TapeReplay>(), TapeWorker.Queue.caller(caller.holder))
        perform(responder, options.isResume ? .resuming : queue, within: options.isResume ? Self.patience.resume : Self.patience.request) {
            (reader, isLate) throws(TapeError) in
            if work.value == nil {
                guard let extent = reader.extent() else { return .failure(Self.notYet) }
                if case .at(let from) = options.start {
                    guard from >= extent.firstAt else { return .failure(Self.agedOut(extent.firstAt)) }
                    guard from <= max(extent.lastAt, Moment.current.wallClock) else { return .failure(Self.notYet) }
                }
                work.value = try TapeReplay(
                    reader, of: names, options.start, to: options.end, isWhole: options.isResume, format: format, reach: TapeFeeder.reach
                ) { dialect.traits(of: $0)?.limit ?? 1000 }
                guard work.value != nil else { return .failure(Self.notOnTape(extent.firstAt)) }
            }
            guard try work.value?.prepare(isLate) == true, let replay = work.value else { return nil }
            work.value = nil
            return .success(Replays.Play(options, replay, queue))
        } done: {
            done($0)
        }
    }

    /// Whether all of these streams are recorded.
    func areRecorded(_ names: [FuturesServiceStreamName]) -> Bool { names.allSatisfy { problem(of: $0) == nil } }

    /// Why a request for a stream's past fails; nil if the stream is recorded.
    private func problem(of name: FuturesServiceStreamName) -> HTTPProblem? {
        guard let configuration else { return Self.noTape }
        let text = name.description
        return configuration.streams.contains { $0.matches(text) } ? nil : Self.notRecorded(name)
    }

    /// The recorded stream in the path.
    private func recordedStream(_ request: HTTPRequest, _ caller: Access.Caller) throws(HTTPProblem) -> FuturesServiceStreamName {
        let name = try StreamHandlers.stream(request, caller, hub)
        if let problem = problem(of: name) { throw problem }
        return name
    }

    /// Sends the response that `body` creates on the tape's reading thread. `body` returns nil to be called again.
    private func read(
        _ responder: HTTPResponder, _ caller: Access.Caller,
        _ body: @escaping @Sendable (TapeReader, _ isLate: () -> Bool) throws(TapeError) -> HTTPResponse?
    ) {
        perform(responder, .caller(caller.holder), within: Self.patience.request) { (reader, isLate) throws(TapeError) in
            try body(reader, isLate).map { .success($0) }
        } done: { result in
            switch result {
            case .success(let response): responder.respond(response)
            case .failure(let problem): responder.respond(problem.response)
            }
        }
    }

    /// Calls `body` on the tape's reading thread until it returns a result, and passes that to `done`. `done` is called once, but not if the client
    /// disconnects first.
    private func perform<Value: Sendable>(
        _ responder: HTTPResponder, _ queue: TapeWorker.Queue, within patience: TimeAmount,
        _ body: @escaping @Sendable (TapeReader, _ isLate: () -> Bool) throws(TapeError) -> Result<Value, HTTPProblem>?,
        done: @escaping @Sendable (Result<Value, HTTPProblem>) -> Void
    ) {
        guard let worker else { return done(.failure(Self.noTape)) }
        let job = TapeJob()
        let lease = worker.perform(for: queue) { isLate in
            let result: Result<Value, HTTPProblem>?
            do throws(TapeError) {
                // Every search is faster after each segment has been surveyed.
                result = try worker.reader.survey(isLate) ? try body(worker.reader, isLate) : nil
            } catch { result = .failure(Self.unreadable(error)) }
            guard let result else { return false }
            job.end { done(result) }
            return true
        }
        guard let lease else { return done(.failure(Self.busy)) }
        job.begin(lease, hub.feed.loop.scheduleTask(in: patience) { job.end { done(.failure(Self.busy)) } })
        responder.whenAbandoned { job.end() }
    }
}

extension Access.Caller {
    /// The holder whose queue this caller uses: its credential, or its address.
    var holder: String { principal.identity.map { "key \($0)" } ?? "address \(address?.client.bytes ?? [])" }
}
