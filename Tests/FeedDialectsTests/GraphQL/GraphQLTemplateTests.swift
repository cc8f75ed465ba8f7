import FeedCore
import Testing

@testable import FeedDialects

@Suite struct GraphQLTemplateTests {
    @Test func aKeyIsPutIntoTheVariablesAndNowhereElse() throws {
        let operation = GraphQLOperation(
            document: "subscription T($symbol:String!){priceUpdated(symbol:$symbol){symbol{key}}}", name: "T",
            variables: try GraphQLTemplate(#"{"symbol":"{key}","list":["x/{key}"]}"#), path: ["priceUpdated"])
        let expected =
            #"{"operationName":"T","query":"subscription T($symbol:String!){priceUpdated(symbol:$symbol){symbol{key}}}","#
            + #""variables":{"symbol":"BTC-USD","list":["x/BTC-USD"]}}"#
        #expect(operation.payload(key: "BTC-USD") == expected)
    }

    @Test(arguments: [
        "", "a\"b", "a\\", "a\\u0022", "A}", "{key}", "a b", "a\nb", "ä", "a,b", "a$b", "a(b)", "a'b", "\u{0}", String(repeating: "a", count: 65),
    ])
    func aNameThatCouldLeaveItsStringIsNoKey(_ key: String) throws {
        #expect(try GraphQLTemplate(#"{"symbol":"{key}"}"#).variables(key: key) == nil)
    }

    @Test func everyKeyThatIsTakenIsWhatTheServerReads() throws {
        let template = try GraphQLTemplate(#"{"symbol":"{key}","limit":5}"#)
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var state = seed
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        var taken = 0
        for _ in 0..<20_000 {
            let key = String(decoding: (0..<Int(next() % 5 + 1)).map { _ in UInt8(next() % 128) }, as: UTF8.self)
            guard var text = template.variables(key: key) else { continue }
            taken += 1
            var members: [String] = []
            try text.withUTF8 { bytes in
                var reader = JSONReader(bytes)
                try reader.object { (reader, name) throws(JSONReader.Failure) in
                    members.append(String(decoding: name, as: UTF8.self))
                    if name.isText("symbol") { #expect(try reader.string() == key) } else { try reader.skip() }
                }
                try reader.end()
            }
            #expect(members == ["symbol", "limit"])
        }
        #expect(taken > 100)
    }

    @Test(arguments: ["", "[]", "\"{key}\"", "{\"a\":{key}}", "{\"a\":1", "{\"a\":1} x", "null"])
    func variablesAreAnObject(_ text: String) {
        #expect(throws: FeedError.self) { try GraphQLTemplate(text) }
    }

    @Test func aStreamWithoutAKeyTakesNone() throws {
        let template = try GraphQLTemplate(#"{"limit":5}"#)
        #expect(template.variables(key: nil) == #"{"limit":5}"#)
        #expect(template.variables(key: "AAPL") == nil)
        #expect(try GraphQLTemplate(#"{"symbol":"{key}"}"#).variables(key: nil) == nil)
    }

    @Test(arguments: [("AAPL@price", "AAPL"), ("a@b@price", nil), ("price", nil), ("AAPL@other", nil), ("@price", nil), ("AAPL@all", nil)])
    func aNameIsAKeyAndAStream(_ name: String, _ key: String?) throws {
        #expect(GraphQLUpstream.example.stream(name)?.key == key)
    }

    @Test func aDocumentIsAStringWhateverItHolds() {
        #expect("a\"b\\c\n\td\u{1}é".quotedAsJSON == #""a\"b\\c\n\u0009d\u0001é""#)
    }
}

extension GraphQLUpstream {
    /// The prices that the simulated server, and the real ones, have.
    static let example = example()

    static func example(members: String = "symbol last bid ask seq") -> GraphQLUpstream {
        func operation(_ kind: String, _ field: String) -> GraphQLOperation {
            GraphQLOperation(
                document: "\(kind) P($symbol: String!) { \(field)(symbol: $symbol) { \(members) } }", name: "P",
                variables: (try? GraphQLTemplate(#"{"symbol":"{key}"}"#)) ?? .none, path: [field])
        }
        var upstream = GraphQLUpstream()
        upstream.streams["price"] = Stream(subscription: operation("subscription", "priceUpdated"), snapshot: operation("query", "price"))
        upstream.streams["finite"] = Stream(subscription: operation("subscription", "finite"), snapshot: nil)
        upstream.streams["all"] = Stream(
            subscription: GraphQLOperation(document: "subscription{all}", name: nil, variables: .none, path: ["all"]), snapshot: nil)
        return upstream
    }
}
