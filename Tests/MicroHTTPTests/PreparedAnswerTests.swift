import Synchronization
import Testing

@testable import MicroHTTP

extension MicroHTTPTests {
    @Suite struct AnswersMadeBeforehand {
        private static func answer(_ text: String, tag: String = "\"1\"", age: Int64 = 0, lifetime: Duration = .seconds(60)) -> PreparedAnswer {
            PreparedAnswer(
                content: SharedBytes(text.utf8), entityTag: tag, headers: [HTTPHeader("ETag", tag)],
                contentHeaders: [HTTPHeader("Content-Type", "text/plain")], countingHeaders: [("X-Age", age), ("X-Unverified", age / 2)],
                lifetime: lifetime, route: "/value")
        }

        /// A server whose handler says how often it was asked.
        private static func serve(_ body: (PreparedAnswers, RawClient) async throws -> Void) async throws {
            let prepared = PreparedAnswers()
            let asked = Atomic<Int>(0)
            try await withServer(
                prepared: prepared,
                routes: {
                    $0.on("GET", "/value") { _, responder in responder.respond(.text("handled \(asked.wrappingAdd(1, ordering: .relaxed).newValue)"))
                    }
                }
            ) { _, port in try await body(prepared, RawClient(port: port)) }
        }

        @Test func theHandlerIsNotAskedWhileThereIsAnAnswer() async throws {
            try await Self.serve { prepared, client in
                client.get("/value")
                #expect(client.response()?.text == "handled 1")
                let answer = Self.answer("prepared", age: 5000)
                prepared.put(answer, for: PreparedAnswers.Key(target: "/value", isGzip: false))
                var ages: Set<Int> = []
                let deadline = ContinuousClock.now + .seconds(30)
                while ages.count < 3, ContinuousClock.now < deadline {
                    client.get("/value")
                    let response = try #require(client.response())
                    #expect(response.status == 200 && response.text == "prepared")
                    let (age, unverified) = (response.field("x-age").flatMap { Int($0) } ?? 0, response.field("x-unverified").flatMap { Int($0) })
                    #expect((5000...60_000).contains(age))
                    ages.insert(age)
                    #expect(unverified == age - 2500, "both count up alike")
                }
                #expect(ages.count == 3, "it counts up")
                prepared.remove([PreparedAnswers.Key(target: "/value", isGzip: false)])
                client.get("/value")
                #expect(client.response()?.text == "handled 2")
            }
        }

        /// The content has the ages at the end of the lifetime, so the header's must not be higher. They include the time in which the answer was made.
        @Test func anAgeCountsFromItsReadingToTheEndOfTheLifetime() {
            let read: UInt64 = 5_000_000_700_000
            let answer = PreparedAnswer(
                content: SharedBytes("".utf8), entityTag: "\"1\"", headers: [], contentHeaders: [], countingHeaders: [("X-Age", 7)], asOf: read,
                lifetime: .microseconds(99_300), route: "/value")
            let elapsed = [0, 1, 1_000_000, 1_000_001, 99_300_000, 250_000_000].map { answer.elapsed(at: read + $0) }
            #expect(elapsed == [0, 1, 1, 2, 100, 100])
            #expect(answer.elapsed(at: read - 1) == 0)
            #expect(answer.isUsable(at: read + 99_299_999) && !answer.isUsable(at: read + 99_300_000))
        }

        @Test func theHandlerIsAskedByWhoMayNotHaveTheAnswer() async throws {
            let prepared = PreparedAnswers()
            prepared.put(Self.answer("prepared"), for: PreparedAnswers.Key(target: "/value", isGzip: false))
            try await withServer(
                prepared: prepared, admitsPrepared: { header, address in header("X-Key") == "right" && address() == "127.0.0.1" },
                routes: { $0.on("GET", "/value") { _, responder in responder.respond(.text("handled")) } }
            ) { _, port in
                let client = try RawClient(port: port)
                client.get("/value")
                #expect(client.response()?.text == "handled")
                client.send("GET /value HTTP/1.1\r\nHost: localhost\r\nX-Key: right\r\n\r\n")
                #expect(client.response()?.text == "prepared")
                client.get("/value")
                #expect(client.response()?.text == "handled")
            }
        }

        /// A head that was judged before is not judged again. Zeros stand for its spaces and line ends where it is compared, and one of the bytes behind
        /// the question mark is lost: neither makes another head the same.
        @Test func onlyTheSameHeadIsKnownAgain() async throws {
            let prepared = PreparedAnswers()
            let targets = ["/value", "/value?a=1", "/value?b=1"]
            try await withServer(
                prepared: prepared, routes: { $0.on("GET", "/value") { request, responder in responder.respond(.text("handled \(request.target)")) } }
            ) { _, port in
                let client = try RawClient(port: port)
                for target in targets { prepared.put(Self.answer("of \(target)"), for: PreparedAnswers.Key(target: target, isGzip: false)) }
                for _ in 0..<3 {
                    for target in targets {
                        client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\n\r\n")
                        #expect(client.response()?.text == "of \(target)")
                    }
                }
                for other in [
                    "GET /value HTTP/1.1\r\nHost: localhost\u{0}\u{0}X-A\u{0} 1\r\n\r\n",
                    "GET /value\u{0}HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\n\r\n",
                    "GET /value HTTP/1.1\r\nHost\u{0} localhost\r\nX-A: 1\r\n\r\n",
                ] {
                    let stranger = try RawClient(port: port)
                    stranger.send(other)
                    #expect(stranger.response()?.status != 200, "\(other.debugDescription)")
                }
                prepared.remove(targets.map { PreparedAnswers.Key(target: $0, isGzip: false) })
                for target in targets {
                    client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\n\r\n")
                    #expect(client.response()?.text == "handled \(target)")
                }
            }
        }

        @Test(arguments: ["\"7\"", "W/\"7\""])
        func whoHasItIsSentNone(tag: String) async throws {
            try await Self.serve { prepared, client in
                prepared.put(Self.answer("prepared", tag: tag), for: PreparedAnswers.Key(target: "/value", isGzip: false))
                for known in ["\"7\"", "W/\"7\"", "\"6\" , \"7\"", "\"6\", W/\"7\"", "*"] {
                    client.send("GET /value HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \(known)\r\n\r\n")
                    let response = try #require(client.response(toHead: true))
                    #expect(response.status == 304 && response.field("etag") == tag && response.field("content-type") == nil)
                }
                client.send("GET /value HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"8\"\r\n\r\n")
                #expect(client.response()?.text == "prepared")
                client.send("HEAD /value HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(client.response(toHead: true)?.field("content-length") == "8")
            }
        }

        @Test(arguments: [
            "GET /value?x HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /value HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=1\r\n\r\n",
            "GET /value HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
        ])
        func aRequestForAnythingElseGoesToTheHandler(request: String) async throws {
            try await Self.serve { prepared, client in
                prepared.put(Self.answer("prepared"), for: PreparedAnswers.Key(target: "/value", isGzip: false))
                client.send(request)
                #expect(client.response()?.text == "handled 1")
            }
        }

        @Test(arguments: [
            ("GET /value HTTP/1.1\r\n\r\n", 400), ("GET /value HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
            ("GET /value HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 400),
        ])
        func whatTheGuardRefusesIsRefused(request: String, status: Int) async throws {
            let prepared = PreparedAnswers()
            prepared.put(Self.answer("prepared"), for: PreparedAnswers.Key(target: "/value", isGzip: false))
            try await withServer(HTTPServerConfiguration(allowedHosts: []), prepared: prepared) { _, port in
                let client = try RawClient(port: port)
                client.send(request)
                #expect(client.response()?.status == status)
            }
        }

        @Test func anAnswerExpiresByItself() async throws {
            try await Self.serve { prepared, client in
                prepared.put(Self.answer("prepared", lifetime: .zero), for: PreparedAnswers.Key(target: "/value", isGzip: false))
                client.get("/value")
                #expect(client.response()?.text == "handled 1")
            }
        }

        @Test func whatIsRemovedOrTooMuchIsNotKept() {
            let prepared = PreparedAnswers(maximumBytes: 100)
            func key(_ number: Int) -> PreparedAnswers.Key { PreparedAnswers.Key(target: "/value?\(number)", isGzip: false) }
            weak var first: PreparedAnswer?
            do {
                let answer = Self.answer(String(repeating: "x", count: 60))
                first = answer
                prepared.put(answer, for: key(0))
            }
            #expect(prepared.size == (1, 60))
            prepared.put(Self.answer(String(repeating: "x", count: 41)), for: key(1))
            #expect(prepared.size == (1, 60), "one too much is not taken")
            prepared.put(Self.answer(String(repeating: "x", count: 40)), for: key(1))
            #expect(prepared.size == (2, 100))
            prepared.put(Self.answer("x"), for: key(1))
            #expect(prepared.size == (2, 61))
            prepared.remove([key(0), key(2)])
            #expect(prepared.size == (1, 1) && first == nil)
        }

        @Test func whoseTimeIsOverIsLetGo() async throws {
            let prepared = PreparedAnswers()
            for number in 0..<10 { prepared.put(Self.answer("x", lifetime: .zero), for: PreparedAnswers.Key(target: "/\(number)", isGzip: false)) }
            let deadline = ContinuousClock.now + .seconds(30)
            while prepared.size.count > 1 {
                try #require(ContinuousClock.now < deadline)
                prepared.put(Self.answer("x"), for: PreparedAnswers.Key(target: "/new", isGzip: false))
                await Task.yield()
            }
        }

        @Test func manyAskForOneAnswerWhileItChanges() async throws {
            let prepared = PreparedAnswers()
            try await withServer(HTTPServerConfiguration(workerThreads: 4), prepared: prepared) { _, port in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            let client = try RawClient(port: port)
                            var last = 0
                            for _ in 0..<500 {
                                client.get("/")
                                let text = client.response()?.text ?? ""
                                let number = try #require(text == "root" ? last : Int(text))
                                #expect(number >= last)
                                last = number
                            }
                        }
                    }
                    group.addTask {
                        for number in 1...1000 {
                            prepared.put(Self.answer("\(number)"), for: PreparedAnswers.Key(target: "/", isGzip: false))
                            await Task.yield()
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
}
