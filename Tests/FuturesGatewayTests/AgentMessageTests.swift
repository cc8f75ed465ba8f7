import Testing

@testable import FuturesGateway

/// How an agent's message is read, and which version of the protocol it is of.
struct AgentMessageTests {
    private static let meta = #""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#

    private static func fields(_ method: String, _ name: String? = nil, version: String = "2026-07-28") -> (String) -> String? {
        { ["MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name][$0] ?? nil }
    }

    private static func code(_ body: String, _ header: (String) -> String? = { _ in nil }) -> AgentError.Code? {
        do throws(AgentError) {
            _ = try AgentMessage(Array(body.utf8)).isModern(header)
            return nil
        } catch { return error.code }
    }

    @Test func anIdComesBackAsItWas() throws {
        for (id, echoed) in [("7", "7"), (#""a\u0000\"""#, #""a\u0000\"""#), ("-1", "-1"), (#""""#, #""""#)] {
            let message = try AgentMessage(Array(#"{"jsonrpc":"2.0","id":\#(id),"method":"ping"}"#.utf8))
            #expect(message.id == echoed)
        }
        #expect(try AgentMessage(Array(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.utf8)).id == nil)
    }

    @Test func parametersMayBeNull() throws {
        let message = try AgentMessage(Array(#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#.utf8))
        #expect(message.method == "tools/list")
    }

    @Test func whatIsNoMessageIsRefused() {
        for body in ["", "{", "nonsense", #"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#, "\u{FF}", String(repeating: "[", count: 40)] {
            #expect(Self.code(body) == .malformed, "\(body)")
        }
        let long = String(repeating: "x", count: 257)
        for body in [
            "[]", #"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "1", #"{"id":1,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1}"#,
            #"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            #"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            #"{"jsonrpc":"2.0","id":"\#(long)","method":"ping"}"#,
        ] {
            #expect(Self.code(body) == .notAMessage, "\(body)")
        }
    }

    @Test func aMessageWithoutAVersionIsOfTheLegacy() throws {
        let message = try AgentMessage(Array(#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.utf8))
        #expect(try !message.isModern { _ in nil })
        for version in AgentMessage.legacyVersions { #expect(try !message.isModern(Self.fields("", version: version))) }
        #expect(throws: AgentError.self) { try message.isModern(Self.fields("", version: "1900-01-01")) }
        #expect(throws: AgentError.self) { try message.isModern(Self.fields("tools/list")) }
    }

    @Test func theHeadHasToSayWhatTheBodySays() throws {
        let call = #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_book",\#(Self.meta)}}"#
        let message = try AgentMessage(Array(call.utf8))
        #expect(try message.isModern(Self.fields("tools/call", "get_book")))
        #expect(try message.isModern(Self.fields("tools/call", "=?base64?Z2V0X2Jvb2s=?=")))
        for fields in [
            Self.fields("tools/list", "get_book"), Self.fields("tools/call", "get_bars"), Self.fields("tools/call"),
            Self.fields("tools/call", "get_book", version: "2025-11-25"), Self.fields("tools/call", "=?base64??="),
            Self.fields("tools/call", "=?base64?!?="),
            Self.fields("tools/call", "=?base64?="), { _ in nil },
        ] {
            #expect(Self.code(call, fields) == .headerMismatch)
        }
    }

    @Test func anotherVersionIsToldWhichThereAre() {
        let body = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}"#
        do throws(AgentError) {
            _ = try AgentMessage(Array(body.utf8)).isModern(Self.fields("ping", version: "2030-01-01"))
            Issue.record("it is taken")
        } catch {
            #expect(error.code == .unsupportedVersion)
            #expect(error.data == #"{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":"2030-01-01"}"#)
        }
    }

    @Test func whoSaysNothingOfItselfIsRefused() {
        let body = #"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#
        #expect(Self.code(body, Self.fields("ping")) == .badParameters)
    }
}
