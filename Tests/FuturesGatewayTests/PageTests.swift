import Foundation
import GatewayTestSupport
import Testing

private let web = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/FuturesGateway/Web").standardized

@Suite struct PageTests {
    @Test func everyFileOfThePageIsServedAsItIsWithItsType() async throws {
        let types = ["html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"]
        let files = try FileManager.default.contentsOfDirectory(at: web, includingPropertiesForKeys: nil)
        #expect(files.count >= 20)
        try await House.open { house in
            for file in files {
                let name = file.lastPathComponent
                let answer = try await house.client.get(name == "index.html" ? "/" : "/web/\(name)")
                #expect(answer.status == 200, "\(name)")
                #expect(answer.header("Content-Type") == types[file.pathExtension].map { $0 + "; charset=utf-8" }, "\(name)")
                #expect(answer.body == Array(try Data(contentsOf: file)), "\(name)")
            }
            #expect(try await house.client.get("/web/none.js").status == 404)
            #expect(try await house.client.get("/client.js").text == "export * from './web/client.js';\n")
        }
    }

    @Test func aFileAlreadyHeldIsNotSentAgain() async throws {
        try await House.open { house in
            let tag = try #require(try await house.client.get("/").header("ETag"))
            let again = try await house.client.get("/", ["If-None-Match": tag])
            #expect(again.status == 304)
            #expect(again.body.isEmpty)
            #expect(try await house.client.get("/", ["If-None-Match": "\"other\""]).status == 200)
            #expect(try await house.client.get("/web/page.js").header("ETag") != tag)
        }
    }

    @Test func thePageCanRunNothingButItsOwnFiles() async throws {
        try await House.open { house in
            let page = try await house.client.get("/")
            let policy = try #require(page.header("Content-Security-Policy"))
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'"))
            #expect(!policy.contains("unsafe"))
            // The makers of the chart ask for a link to them. Nothing is loaded by it.
            let text = page.text.replacing(#"<a href="https://www.tradingview.com/" rel="noreferrer">"#, with: "")
            for mark in ["<style", "style=", "onclick", "javascript:", "http://", "https://", "<script>"] { #expect(!text.contains(mark)) }
        }
    }
}
