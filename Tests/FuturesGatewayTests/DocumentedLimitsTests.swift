import Foundation
import MicroHTTP
import Testing

@testable import FuturesGateway

/// What documents and recipes say of limits is what the program does.
@Suite struct DocumentedLimitsTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func aBodyIsAsLongAsTheDocumentsAndTheProxiesSay() throws {
        let (usual, agents) = (HTTPServerConfiguration().maximumBodyBytes >> 10, AgentHandlers.maximumBodyBytes >> 10)
        #expect(try Self.text("SECURITY.md").contains("\(usual) KiB of body, \(agents) KiB on `/mcp`"))
        #expect(try Self.text("docs/read/agents.md").contains("\(agents) KiB at most"))
        #expect(
            try Self.text("ops/nginx/gateway.conf").contains("client_max_body_size \(agents + 1)k;"), "the gateway itself says which body is too long"
        )
        #expect(try Self.text("ops/caddy/Caddyfile").contains("max_size \(agents)KiB"))
    }

    @Test func aProxyRefusesTheLengthsThatTheGatewayRefuses() throws {
        let line = try #require(try Self.text("ops/caddy/Caddyfile").split(separator: "\n").first { $0.contains("@long header_regexp") })
        let pattern = try Regex(String(try #require(line.split(separator: " ").last)))
        for length in [0, 1, 999, 4097, 9999, 10_000, 16_383, 16_384, 16_385, 16_390, 16_399, 16_400, 17_000, 20_000, 99_999, 100_000, 9_999_999] {
            #expect((try pattern.firstMatch(in: "\(length)") != nil) == (length > AgentHandlers.maximumBodyBytes), "\(length)")
        }
    }
}
