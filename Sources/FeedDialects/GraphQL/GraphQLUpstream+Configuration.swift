import FeedCore

extension GraphQLUpstream {
    /// Parses an upstream's configuration; docs/extend/upstreams.md shows one.
    init(_ members: JSONMembers) throws(FeedError) {
        var faults = MemberFaults()
        faults.gather { () throws(FeedError) in
            try members.check(["kind", "webSocket", "http", "transport", "subprotocols", "connectingPayload", "headers", "streams"])
        }
        let webSocket = faults.gather { () throws(FeedError) in try members.string("webSocket") } ?? nil
        let http = faults.gather { () throws(FeedError) in try members.string("http") } ?? nil
        let transport = faults.gather { () throws(FeedError) in try Self.transport(members) }
        if let transport {
            faults.gather { () throws(FeedError) in
                let isSocket = transport == .webSocket
                guard let url = isSocket ? webSocket : http, url.hasPrefix(isSocket ? "ws" : "http") else {
                    throw FeedError(
                        member: isSocket ? "webSocket" : "http", rule: "must be an address, \(isSocket ? "ws:// or wss://" : "http:// or https://")")
                }
            }
        }
        let subprotocols = faults.gather { () throws(FeedError) in try Self.subprotocols(members) }
        let payload = faults.gather { () throws(FeedError) in try members.object("connectingPayload") } ?? nil
        let headers = faults.gather { () throws(FeedError) in try members.object("headers")?.strings() ?? [] }
        let streams = Self.streams(members, &faults)
        try faults.check()
        (webSocketURL, httpURL, self.transport) = (webSocket, http, transport ?? .webSocket)
        (self.subprotocols, self.headers, self.streams) = (subprotocols ?? GraphQLProtocol.allCases, headers ?? [], streams)
        if payload != nil { connectingPayload = members.text("connectingPayload") }
    }

    private static func transport(_ members: JSONMembers) throws(FeedError) -> Transport {
        guard let text = try members.string("transport") else { return .webSocket }
        guard let transport = Transport(rawValue: text) else { throw FeedError(member: "transport", rule: "must be websocket, multipart or sse") }
        return transport
    }

    private static func subprotocols(_ members: JSONMembers) throws(FeedError) -> [GraphQLProtocol] {
        guard let list = members.text("subprotocols") else { return GraphQLProtocol.allCases }
        let subprotocols = GraphQLProtocol.allCases.filter { list.contains("\"\($0.rawValue)\"") }
        guard let last = subprotocols.last else { throw FeedError(member: "subprotocols", rule: "must be graphql-transport-ws, graphql-ws or both") }
        return list.contains("[\"\(last.rawValue)\"") ? subprotocols.reversed() : subprotocols
    }

    private static func streams(_ members: JSONMembers, _ faults: inout MemberFaults) -> [String: Stream] {
        let kinds = faults.gather { () throws(FeedError) in
            guard let streams = try members.object("streams"), !streams.values.isEmpty else {
                throw FeedError(member: "streams", rule: "must contain at least one stream")
            }
            return streams
        }
        var streams: [String: Stream] = [:]
        for (kind, _) in kinds?.values ?? [] {
            faults.gather { () throws(FeedError) in
                guard let stream = try kinds?.object(kind), kind.isHTTPToken else { throw FeedError(member: kind, rule: "must be a stream") }
                streams[kind] = try Self.stream(stream)
            }
        }
        return streams
    }

    private static func stream(_ members: JSONMembers) throws(FeedError) -> Stream {
        try members.check(["subscription", "operationName", "variables", "path", "snapshot"])
        let snapshot = try members.object("snapshot")
        try snapshot?.check(["query", "operationName", "variables", "path"])
        let subscription = try GraphQLOperation(members, document: "subscription", variables: nil)
        return Stream(
            subscription: subscription,
            snapshot: try snapshot.map { (members) throws(FeedError) in
                try GraphQLOperation(members, document: "query", variables: subscription.variables)
            })
    }
}

extension GraphQLOperation {
    fileprivate init(_ members: JSONMembers, document: String, variables inherited: GraphQLTemplate?) throws(FeedError) {
        guard let text = try members.string(document) else { throw FeedError(member: document, rule: "must be the GraphQL document") }
        guard let path = try members.string("path"), !path.isEmpty else {
            throw FeedError(member: "path", rule: "must be the path of the content in data, such as priceUpdated or market.price")
        }
        self.document = text
        self.path = path.split(separator: ".").map(String.init)
        name = try members.string("operationName")
        do {
            variables = try members.text("variables").map { (text) throws(FeedError) in try GraphQLTemplate(text) } ?? inherited ?? .none
        } catch {
            throw FeedError(member: "variables", rule: "must be a JSON object")
        }
    }
}
