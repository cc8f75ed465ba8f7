import FuturesFeed
import GatewayAccess
import MicroHTTP
import NIOCore
import Rings

/// `/mcp`: the Model Context Protocol for agents. It translates their messages into the same hub calls that other requests make.
struct AgentHandlers: Sendable {
    let hub: EventHub
    /// The event stream loops of the fan-out threads, in order.
    let loops: [EventStreamLoop]
    let tally = AgentTally()

    static let instructions = """
        Live market data of futures venues. Every answer says how current it is: state is live if the value is verified as current, ageMs is the time \
        since it changed, unverifiedMs the time since there was evidence that nothing newer exists. If a value is not live, the tool returns an error; \
        pass allowStale to get it anyway, and then tell the user its state and age. If simulated is true, the data is simulated: say so. Prices are \
        decimal strings, digit for digit as the venue wrote them; times are ms since 1970 UTC. Symbols and streams of the first venue have no prefix, those \
        of another one have its name and a colon in front, as in binance:BTCUSDT. search_streams finds symbols and streams, get_status shows why data is \
        missing.
        """

    /// `POST /mcp`
    func answer(_ request: HTTPRequest, _ responder: HTTPResponder, _ caller: Access.Caller) {
        guard Self.isJSON(request.header("Content-Type")) else {
            return responder.respond(Self.response(AgentError(Self.noJSON), id: nil, isModern: true))
        }
        var id: String?
        let (message, isModern): (AgentMessage, Bool)
        do throws(AgentError) {
            message = try AgentMessage(request.body)
            id = message.id
            isModern = try message.isModern(request.header)
        } catch {
            tally.count("unread", .refused)
            return responder.respond(Self.response(error, id: id, isModern: true))
        }
        guard let id else { return responder.respond(HTTPResponse(status: 202, headers: [], body: [])) }
        let call = AgentCall(id: id, isModern: isModern, caller: caller, responder: responder, tally: tally)
        do throws(AgentError) {
            try carryOut(message, call)
        } catch {
            call.refuse(error, as: AgentTally.label(of: message.method))
        }
    }

    /// The response to a request that the access rules refuse.
    static func refused(_ problem: HTTPProblem) -> HTTPResponse { response(AgentError(problem), id: nil, isModern: true) }

    /// The response to a request beyond a limit.
    static func limited(_ request: HTTPRequest, _ limit: LimitReached) -> HTTPResponse { refused(Problems.limited(limit)) }

    static func response(_ error: AgentError, id: String?, isModern: Bool) -> HTTPResponse {
        var json = JSONWriter()
        json.object {
            $0.member("jsonrpc", "2.0")
            $0.member("id")
            $0.raw(JSONRow(checked: id ?? "null"))
            $0.member("error")
            $0.object {
                $0.member("code", error.code.rawValue)
                $0.member("message", error.message)
                guard let data = error.data else { return }
                $0.member("data")
                $0.raw(JSONRow(checked: data))
            }
        }
        return StreamHandlers.json(error.status(isModern: isModern), json.bytes, error.headers)
    }

    /// A page of another site cannot send this content type without a CORS preflight.
    private static let noJSON = HTTPProblem(
        status: 415, title: "Unsupported media type", detail: "Send the message as Content-Type: application/json.")

    private static func isJSON(_ type: String?) -> Bool {
        type?.split(separator: ";").first?.trimmed.lowercased() == "application/json"
    }

    private func carryOut(_ message: AgentMessage, _ call: AgentCall) throws(AgentError) {
        switch (message.method, call.isModern) {
        case ("initialize", false): initialize(message, call)
        case ("ping", false): call.result(as: "ping") { _ in }
        case ("server/discover", true):
            call.result(as: "discover", cacheFor: Self.constantFor, isPublic: true) {
                $0.member("supportedVersions")
                $0.array { $0.string(AgentMessage.version) }
                Self.describe(&$0, isModern: call.isModern)
            }
        case ("tools/list", _):
            call.result(as: "list", cacheFor: Self.constantFor, isPublic: true) {
                $0.member("tools")
                $0.raw(JSONRow(checked: Self.tools))
            }
        case ("tools/call", _): try callTool(message, call)
        case ("resources/list", _): try listResources(message, call)
        case ("resources/templates/list", _):
            call.result(as: "list", cacheFor: Self.constantFor, isPublic: true) {
                $0.member("resourceTemplates")
                $0.raw(JSONRow(checked: Self.template))
            }
        case ("resources/read", _): try read(message, call)
        case ("subscriptions/listen", true): try listen(message, call)
        default:
            throw AgentError(.unknownMethod, "Unknown method. Call server/discover for the methods or tools/list for the tools.")
        }
    }

    static let tools = String(decoding: EmbeddedFiles.bytes("tools.json"), as: UTF8.self)

    private static let template = """
        [{"uriTemplate":"feed://stream/{name}{?allowStale,depth,last}","name":"stream","title":"A stream's latest content","mimeType":"application/json",\
        "description":"The latest content of a stream, such as btcusdt@markPrice, with its state and age. Returns an error if the stream is not live, unless \
        allowStale=true. depth limits the levels of a book, last the number of trades and bars."}]
        """

    private func initialize(_ message: AgentMessage, _ call: AgentCall) {
        let wanted = message.params["protocolVersion"]?.string ?? ""
        call.result(as: "initialize") {
            $0.member("protocolVersion", AgentMessage.legacyVersions.contains(wanted) ? wanted : AgentMessage.legacyVersions[0])
            Self.describe(&$0, isModern: call.isModern)
            $0.member("serverInfo")
            AgentCall.writeServer(&$0)
        }
    }

    private static func describe(_ json: inout JSONWriter, isModern: Bool) {
        json.member("capabilities")
        json.object {
            $0.member("tools")
            $0.object { _ in }
            $0.member("resources")
            $0.object { if isModern { $0.member("subscribe", true) } }
        }
        json.member("instructions", instructions)
    }

    // MARK: Tools

    private func callTool(_ message: AgentMessage, _ call: AgentCall) throws(AgentError) {
        guard let name = message.params["name"]?.string, let tool = AgentTool(rawValue: name) else {
            throw AgentError(.badParameters, "Unknown tool. Call tools/list to see the available tools.")
        }
        let arguments: StrictJSON.Object
        switch message.params["arguments"] {
        case nil, .null?: arguments = [:]
        case .object(let members)?: arguments = members
        default: throw AgentError(.badParameters, "params.arguments must be an object.")
        }
        do throws(AgentMistake) {
            switch try tool.question(arguments) {
            case .content(let question):
                seek(question, call, as: name) { call.toolResult($0, of: question, name) }
            case .search(let words, let most): search(words, most, call)
            case .status(let stream): try status(of: stream, call)
            }
        } catch {
            // An error in the tool's result lets the model correct its call.
            call.toolError(.refused, code: "badArguments", error.message, name)
        }
    }

    private func search(_ text: String, _ most: Int, _ call: AgentCall) {
        let (upstreams, dialect) = (hub.upstreams, hub.feed.dialect)
        let symbols = StreamSearch.symbols(of: upstreams.enumerated().map { ($1.name, hub.feed.listing(of: $0)?.symbols ?? []) })
        hub.tables.read(hub) { table in
            let permission = call.caller.principal.permission
            call.toolResult(as: AgentTool.search.rawValue) { json in
                let found = StreamSearch(text, most: most)
                var hasMore = false
                json.member("kinds")
                json.array { json in
                    for entry in found.first(of: dialect.catalogue, by: { $0.pattern + " " + $0.carries }, &hasMore) {
                        json.object {
                            $0.member("pattern", entry.pattern)
                            $0.member("carries", entry.carries)
                        }
                    }
                }
                json.member("symbols")
                json.array { json in
                    for symbol in found.first(of: symbols, by: { $0 }, &hasMore) { json.string(symbol) }
                }
                json.member("active")
                json.array { json in
                    let elapsed = Instant.current.milliseconds(since: table.readAt)
                    let permitted = table.rows.map(\.status).filter { permission.allows(stream: $0.feed.name.description) }
                        .sorted { $0.feed.name.description < $1.feed.name.description }
                    for status in found.first(of: permitted, by: { $0.feed.name.description }, &hasMore) {
                        json.object {
                            $0.member("stream", status.feed.name.description)
                            $0.member("state", status.feed.state.rawValue)
                            $0.market(status.feed)
                            $0.member("ageMs", orNull: status.feed.ageMs.map { $0 &+ elapsed })
                            $0.member("unverifiedMs", orNull: status.feed.unverifiedMs.map { $0 &+ elapsed })
                            $0.member("readers", status.readers)
                        }
                    }
                }
                json.member("more", hasMore)
                json.member("simulated", upstreams.contains(where: \.isSimulated))
            }
        }
    }

    private func status(of stream: String?, _ call: AgentCall) throws(AgentMistake) {
        guard let stream else { return statusOfAll(call) }
        let name = try name(stream, call)
        hub.run { hub in
            let (status, incidents) = (hub.status(of: name), hub.feed.incidents(of: name))
            let isSimulated = hub.isSimulated(name)
            call.toolResult(as: AgentTool.status.rawValue) { json in
                json.member("stream", name.description)
                json.member("state", status?.feed.state.rawValue ?? "idle")
                json.market(status?.feed)
                json.member("ageMs", orNull: status?.feed.ageMs)
                json.member("unverifiedMs", orNull: status?.feed.unverifiedMs)
                json.member("simulated", isSimulated)
                json.member("readers", status?.readers ?? 0)
                if let status { json.member("connected", status.feed.isConnected) }
                json.member("incidents")
                json.array(incidents)
            }
        }
    }

    private func statusOfAll(_ call: AgentCall) {
        let upstreams = hub.upstreams
        hub.tables.read(hub) { table in
            call.toolResult(as: AgentTool.status.rawValue) { json in
                let now = Instant.current
                json.member("ready", table.isReady)
                json.member("upstreams")
                json.array { json in
                    for (upstream, status) in Array(zip(upstreams, table.upstreams)) {
                        json.object {
                            $0.member("name", upstream.name)
                            if let venue = upstream.venue { $0.member("venue", venue) }
                            $0.member("simulated", upstream.isSimulated)
                            $0.member("read", status.read)
                            $0.member("live", status.live)
                            if let trouble = status.trouble {
                                $0.member("trouble", trouble.text)
                                $0.member("troubleAgeMs", now.milliseconds(since: trouble.at))
                            }
                        }
                    }
                }
            }
        }
    }

    // MARK: Resources

    private func listResources(_ message: AgentMessage, _ call: AgentCall) throws(AgentError) {
        let after = message.params["cursor"]?.string
        hub.tables.read(hub) { table in
            let permission = call.caller.principal.permission
            call.result(as: "list", cacheFor: 0) { json in
                let names = table.rows.map(\.status.feed.name).filter { permission.allows(stream: $0.description) }
                    .filter { name in after.map { name.description > $0 } ?? true }.sorted { $0.description < $1.description }
                json.member("resources")
                json.array { json in
                    for name in names.prefix(Self.page) {
                        json.object {
                            $0.member("uri", ContentQuestion.uri(of: name))
                            $0.member("name", name.description)
                            $0.member("mimeType", "application/json")
                        }
                    }
                }
                if names.count > Self.page { json.member("nextCursor", names[Self.page - 1].description) }
            }
        }
    }

    private func read(_ message: AgentMessage, _ call: AgentCall) throws(AgentError) {
        guard let uri = message.params["uri"]?.string, let question = ContentQuestion(uri: uri) else {
            throw AgentError(
                .badParameters,
                "A resource address must be feed://stream/NAME, optionally with the query parameters allowStale=true, depth=N or last=N.")
        }
        seek(question, call, as: "read") { call.resource($0, of: question, uri) }
    }

    /// Opens the notification stream. It carries only notifications, so a slow reader of many streams loses nothing: it reads the newest content when
    /// it is ready.
    private func listen(_ message: AgentMessage, _ call: AgentCall) throws(AgentError) {
        guard let filter = message.params["notifications"]?.object else {
            throw AgentError(.badParameters, "params.notifications must be an object.")
        }
        var streams: [(name: FuturesServiceStreamName, uri: String)] = []
        if let wanted = filter["resourceSubscriptions"], wanted != .null {
            guard let uris = wanted.strings, uris.count <= hub.limits.streamsPerClient else {
                throw AgentError(.badParameters, "resourceSubscriptions must be an array of at most \(hub.limits.streamsPerClient) addresses.")
            }
            for uri in uris {
                guard let question = ContentQuestion(uri: uri) else {
                    throw AgentError(.badParameters, "A resource address must be feed://stream/NAME.")
                }
                do throws(AgentMistake) {
                    let name = try name(question.stream, call)
                    if !streams.contains(where: { $0.name == name }) { streams.append((name, uri)) }
                } catch { throw AgentError(.badParameters, error.message) }
            }
        }
        let notifications = AgentNotifications(subscription: call.id, streams: streams)
        let options = ConnectionOptions(notifying: notifications, heartbeat: hub.limits.heartbeat)
        hub.run { [loops] hub in
            do throws(EventHub.Refusal) {
                let number = try hub.prepare(streams: notifications.names, options, for: call.caller)
                call.tally.count("listen", .given)
                call.responder.openStream(headers: EventHandlers.headers(.events), loop: loops[hub.rings.thread(of: number)], context: number)
            } catch {
                call.refuse(AgentError(EventHandlers.problem(error)), as: "listen")
            }
        }
    }

    // MARK: Contents

    /// The stream with this name, if it exists and the caller may read it.
    private func name(_ text: String, _ call: AgentCall) throws(AgentMistake) -> FuturesServiceStreamName {
        let name = FuturesServiceStreamName(text)
        if let name, !call.caller.principal.permission.allows(stream: name.description) {
            hub.gatekeeper.count(.forbidden)
            throw AgentMistake(message: "The credential does not permit this stream.")
        }
        guard let name, hub.knows(name) else {
            if let name, hub.isSettled(name) { throw AgentMistake(message: "The venue has settled the symbol; the stream has ended.") }
            throw AgentMistake(message: hub.mistake(in: text).detail + " Call search_streams to find streams.")
        }
        return name
    }

    /// Requests a stream's content from the hub, and waits for it if the stream had no readers before.
    private func seek(
        _ question: ContentQuestion, _ call: AgentCall, as label: String, _ done: @escaping @Sendable (ContentSearch.Found) -> Void
    ) {
        do throws(AgentMistake) {
            let name = try name(question.stream, call)
            hub.run { hub in
                do throws(EventHub.Refusal) {
                    try hub.checkRoom(for: [name], from: call.caller.address)
                    let lease: Gatekeeper.Lease
                    do throws(LimitReached) { lease = try hub.gatekeeper.wait(from: call.caller.address, at: Access.now) } catch {
                        throw .limited(error)
                    }
                    let search = ContentSearch(name, question, from: call.caller.address) { found in
                        hub.gatekeeper.close(lease, streams: 0)
                        done(found)
                    }
                    search.go(on: hub)
                    // Only the feed's thread uses the search.
                    call.responder.whenAbandoned { [box = NIOLoopBound(search, eventLoop: hub.feed.loop)] in hub.run { box.value.abandon(on: $0) } }
                } catch {
                    let problem = EventHandlers.problem(error)
                    done(.failed(.refused, code: "refused", problem.detail ?? problem.title))
                }
            }
        } catch { done(.failed(.refused, code: "unknownStream", error.message)) }
    }
}
