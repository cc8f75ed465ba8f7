import FeedCore

extension GraphQLUpstream {
    /// Reads an upstream from its configuration; docs/upstreams.md shows one.
    init(_ members: JSONMembers) throws(FeedError) {
        try members.check(["kind", "webSocket", "http", "transport", "subprotocols", "connectingPayload", "headers", "streams"])
        webSocketURL = try members.string("webSocket")
        httpURL = try members.string("http")
        if let text = try members.string("transport") {
            guard let transport = Transport(rawValue: text) else { throw FeedError(member: "transport", rule: "is websocket, multipart or sse") }
            self.transport = transport
        }
        let isSocket = transport == .webSocket
        guard let url = isSocket ? webSocketURL : httpURL, url.hasPrefix(isSocket ? "ws" : "http") else {
            throw FeedError(
                member: isSocket ? "webSocket" : "http", rule: "is the address, \(isSocket ? "ws:// or wss://" : "http:// or https://")")
        }
        if let list = members.text("subprotocols") {
            subprotocols = GraphQLProtocol.allCases.filter { list.contains("\"\($0.rawValue)\"") }
            if let first = subprotocols.last, list.contains("[\"\(first.rawValue)\"") { subprotocols.reverse() }
            guard !subprotocols.isEmpty else { throw FeedError(member: "subprotocols", rule: "are of graphql-transport-ws and graphql-ws") }
        }
        if try members.object("connectingPayload") != nil { connectingPayload = members.text("connectingPayload") }
        headers = try members.object("headers")?.strings() ?? []
        guard let streams = try members.object("streams"), !streams.values.isEmpty else {
            throw FeedError(member: "streams", rule: "names one at least")
        }
        for (kind, _) in streams.values {
            guard let stream = try streams.object(kind), HTTPFields.isToken(kind) else { throw FeedError(member: kind, rule: "is a stream") }
            try stream.check(["subscription", "operationName", "variables", "path", "snapshot"])
            let snapshot = try stream.object("snapshot")
            try snapshot?.check(["query", "operationName", "variables", "path"])
            let subscription = try GraphQLOperation(stream, document: "subscription", variables: nil)
            self.streams[kind] = Stream(
                subscription: subscription,
                snapshot: try snapshot.map { (members) throws(FeedError) in
                    try GraphQLOperation(members, document: "query", variables: subscription.variables)
                })
        }
    }
}

extension GraphQLOperation {
    fileprivate init(_ members: JSONMembers, document: String, variables inherited: GraphQLTemplate?) throws(FeedError) {
        guard let text = try members.string(document) else { throw FeedError(member: document, rule: "is the document") }
        guard let path = try members.string("path"), !path.isEmpty else {
            throw FeedError(member: "path", rule: "says where in data the content is, as in priceUpdated or market.price")
        }
        self.document = text
        self.path = path.split(separator: ".").map(String.init)
        name = try members.string("operationName")
        do {
            variables = try members.text("variables").map { (text) throws(FeedError) in try GraphQLTemplate(text) } ?? inherited ?? .none
        } catch {
            throw FeedError(member: "variables", rule: "are a JSON object")
        }
    }
}
