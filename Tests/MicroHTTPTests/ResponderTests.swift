import Dispatch
import MicroHTTP
import Synchronization
import Testing

extension MicroHTTPTests {
    @Suite struct Responders {
        @Test func aThousandConcurrentRequestsAreAnsweredLaterFromAnotherThread() async throws {
            let waiting = Inbox<(HTTPResponder, String)>()
            try await withServer(routes: {
                $0.on("GET", "/later/{n}") { request, responder in waiting.put((responder, request.parameters["n"] ?? "")) }
            }) { _, port in
                let clients = try (0..<1000).map { number in
                    let client = try RawClient(port: port)
                    client.get("/later/\(number)")
                    return client
                }
                let held = waiting.next(1000)
                #expect(held.count == 1000)
                DispatchQueue.concurrentPerform(iterations: held.count) { index in held[index].0.respond(.text(held[index].1)) }
                for (number, client) in clients.enumerated() { #expect(client.response()?.text == "\(number)") }
            }
        }

        /// The answer races with the suspension of its connection.
        @Test func anAnswerThatRacesWithItsSuspensionIsNeverLost() async throws {
            let queue = DispatchQueue(label: "answers", attributes: .concurrent)
            try await withServer(routes: { $0.on("GET", "/race") { _, responder in queue.async { responder.respond(.text("won")) } } }) { _, port in
                let client = try RawClient(port: port)
                for _ in 0..<5000 {
                    client.get("/race")
                    guard client.response()?.text == "won" else {
                        Issue.record("an answer was lost")
                        return
                    }
                }
            }
        }

        @Test func whoHangsUpWhileWaitingIsNoticed() async throws {
            let (waiting, left) = (Inbox<HTTPResponder>(), Inbox<String>())
            try await withServer(routes: {
                $0.on("GET", "/early") { _, responder in
                    responder.whenAbandoned { left.put("early") }
                    waiting.put(responder)
                }
                $0.on("GET", "/late") { _, responder in waiting.put(responder) }
            }) { server, port in
                for path in ["/early", "/late"] {
                    var client: RawClient? = try RawClient(port: port)
                    client?.get(path)
                    let responder = try #require(waiting.next(1).first)
                    if path == "/late" { responder.whenAbandoned { left.put("late") } }
                    withExtendedLifetime(client) {}
                    client = nil
                    #expect(left.next(1) == [String(path.dropFirst())])
                    responder.respond(.text("too late"))
                }
                let patient = try RawClient(port: port)
                for _ in 0..<100 {
                    patient.get("/early")
                    waiting.next(1).first?.respond(.text("answered"))
                    #expect(patient.response()?.text == "answered")
                }
                let deadline = ContinuousClock.now + .seconds(20)
                while server.connectionCount > 1 { try #require(ContinuousClock.now < deadline) }
            }
            #expect(left.next(within: 0.3) == nil)
        }

        @Test func anAnswerIsMadeWhereItIsSent() async throws {
            let waiting = Inbox<HTTPResponder>()
            try await withServer(routes: { $0.on("GET", "/made") { _, responder in waiting.put(responder.adding([HTTPHeader("X-Added", "1")])) } }) {
                _, port in
                let client = try RawClient(port: port)
                client.get("/made")
                waiting.next(1).first?.respond(200) { .text("made") }
                let answer = try #require(client.response())
                #expect(answer.text == "made" && answer.field("x-added") == "1")
            }
        }

        @Test func onlyTheFirstAnswerCounts() async throws {
            try await withServer(routes: {
                $0.on("GET", "/twice") { _, responder in
                    responder.respond(.text("first"))
                    responder.respond(.text("second"))
                }
            }) { _, port in
                let client = try RawClient(port: port)
                client.get("/twice")
                #expect(client.response()?.text == "first")
                client.get("/")
                #expect(client.response()?.text == "root")
            }
        }

        @Test func fieldsAddedToAResponderAreOnWhateverItAnswers() async throws {
            try await withServer(routes: {
                $0.on("GET", "/value") { _, responder in
                    responder.adding([HTTPHeader("X-First", "1")]).adding([HTTPHeader("X-Second", "2")]).respond(.text("value"))
                }
                $0.on("GET", "/nothing") { _, responder in _ = responder.adding([HTTPHeader("X-First", "1")]) }
            }) { _, port in
                let client = try RawClient(port: port)
                client.get("/value")
                let response = try #require(client.response())
                #expect(response.field("x-first") == "1" && response.field("x-second") == "2" && response.text == "value")
                client.get("/nothing")
                #expect(client.response()?.status == 500)
            }
        }

        @Test func aResponderReleasedWithoutAnAnswerAnswers500() async throws {
            let held = Inbox<HTTPResponder>()
            try await withServer(routes: { router in
                router.on("GET", "/dropped") { _, _ in }
                router.on("GET", "/held") { _, responder in held.put(responder) }
            }) { _, port in
                let client = try RawClient(port: port)
                client.get("/dropped")
                #expect(client.response()?.status == 500)
                client.get("/held")
                _ = held.next()
                let answer = try #require(client.response())
                #expect(answer.status == 500)
                #expect(answer.field("content-type") == "application/problem+json")
                client.get("/")
                #expect(client.response()?.status == 200, "the connection lives on")
            }
        }

        @Test func aClientThatLeftBeforeItsAnswerCostsNothing() async throws {
            let held = Inbox<HTTPResponder>()
            try await withServer(routes: { $0.on("GET", "/held") { _, responder in held.put(responder) } }) { server, port in
                var clients = try (0..<50).map { _ in
                    let client = try RawClient(port: port)
                    client.get("/held")
                    return client
                }
                let responders = held.next(50)
                clients.removeAll()
                for responder in responders { responder.respond(.text("nobody")) }
                let deadline = ContinuousClock.now + .seconds(5)
                while server.connectionCount > 0, .now < deadline { await Task.yield() }
                #expect(server.connectionCount == 0)
            }
        }

        @Test func stopAnswersWhatStillWaitsWith503() async throws {
            let held = Inbox<HTTPResponder>()
            var router = Router()
            router.on("GET", "/held") { _, responder in held.put(responder) }
            let server = HTTPServer(configuration: HTTPServerConfiguration(), router: router)
            let port = try server.start()
            let clients = try (0..<20).map { _ in
                let client = try RawClient(port: port)
                client.get("/held")
                return client
            }
            let responders = held.next(20)
            await server.stop(grace: .milliseconds(100))
            await server.stop(grace: .milliseconds(100))
            for client in clients { #expect(client.response()?.status == 503) }
            for responder in responders { responder.respond(.text("too late")) }
            #expect(server.connectionCount == 0)
        }

        @Test func stopLetsARunningAnswerEnd() async throws {
            let held = Inbox<HTTPResponder>()
            var router = Router()
            router.on("GET", "/held") { _, responder in held.put(responder) }
            let server = HTTPServer(configuration: HTTPServerConfiguration(), router: router)
            let port = try server.start()
            let client = try RawClient(port: port)
            client.get("/held")
            let responder = try #require(held.next())
            async let stopped: Void = server.stop(grace: .seconds(10))
            while try RawClient.answer(port: port, to: "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n") != nil {}
            responder.respond(.text("in time"))
            let answer = try #require(client.response())
            #expect(answer.text == "in time")
            #expect(answer.field("connection") == "close")
            await stopped
        }
    }
}
