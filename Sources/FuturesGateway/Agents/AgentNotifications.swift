import FuturesFeed
import Rings

/// The messages of one connection that notifies an agent of changed streams (MCP 2026-07-28, `subscriptions/listen`).
struct AgentNotifications: Sendable {
    /// The id of the request that opened the connection, as JSON text.
    let subscription: String
    /// The streams, each with the URI that the agent used.
    let streams: [(name: FuturesServiceStreamName, uri: String)]

    var names: [FuturesServiceStreamName] { streams.map(\.name) }

    /// The first message, which lists the streams.
    var acknowledgement: [UInt8] {
        notification("notifications/subscriptions/acknowledged") { json in
            json.member("notifications")
            json.object { json in
                guard !streams.isEmpty else { return }
                json.member("resourceSubscriptions")
                json.array { json in for stream in streams { json.string(stream.uri) } }
            }
        }
    }

    /// The notifications for the changed streams among these.
    func updated(_ names: Set<FuturesServiceStreamName>) -> [UInt8] {
        streams.filter { names.contains($0.name) }.flatMap { stream in
            notification("notifications/resources/updated") { $0.member("uri", stream.uri) }
        }
    }

    /// The response to the request, which ends the connection: a result if the gateway is stopping, otherwise an error with the reason.
    func end(code: String, reason: String) -> [UInt8] {
        message {
            $0.member("id")
            $0.raw(JSONRow(checked: subscription))
            guard code == "draining" else {
                $0.member("error")
                return $0.object {
                    $0.member("code", AgentError.Code.refused.rawValue)
                    $0.member("message", reason)
                }
            }
            $0.member("result")
            $0.object {
                $0.member("resultType", "complete")
                writeMeta(&$0)
            }
        }
    }

    private func notification(_ method: String, _ params: (inout JSONWriter) -> Void) -> [UInt8] {
        message {
            $0.member("method", method)
            $0.member("params")
            $0.object {
                params(&$0)
                writeMeta(&$0)
            }
        }
    }

    private func writeMeta(_ json: inout JSONWriter) {
        json.member("_meta")
        json.object {
            $0.member("io.modelcontextprotocol/subscriptionId")
            $0.raw(JSONRow(checked: subscription))
        }
    }

    private func message(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        let json = EventEncoder.object {
            $0.member("jsonrpc", "2.0")
            members(&$0)
        }
        return Array("event: message\ndata: ".utf8) + json + Array("\n\n".utf8)
    }
}
