import Foundation
import NIOCore
import NIOPosix

struct HTTPReply: Sendable {
    let status: Int
    /// Names in lower case.
    let headers: [String: String]
    let body: String

    var json: VenueJSON { get throws { try VenueJSON(body) } }
}

/// Sends one raw HTTP request and reads to the end of the connection; gives up after ten seconds.
func get(_ port: Int, _ target: String, method: String = "GET", body: String = "", header: String? = nil) async throws -> HTTPReply {
    let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
    let extra = header.map { $0 + "\r\n" } ?? ""
    let request = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(extra)\(length)Connection: close\r\n\r\n\(body)"
    let text = try await exchange(port, request)
    guard let end = text.range(of: "\r\n\r\n") else { throw Unexpected("no HTTP reply to \(target): \(text.prefix(200))") }
    let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
        throw Unexpected("no status line in \(lines)")
    }
    let headers = lines.dropFirst().map { line in
        let parts = line.split(separator: ":", maxSplits: 1)
        return (parts[0].lowercased(), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
    }
    return HTTPReply(
        status: status, headers: Dictionary(headers, uniquingKeysWith: { first, _ in first }), body: String(text[end.upperBound...]))
}

/// Everything the peer sends in answer to `bytes` until it closes the connection.
private func exchange(_ port: Int, _ bytes: String) async throws -> String {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
    channel.channel.eventLoop.scheduleTask(in: .seconds(10)) { channel.channel.close(promise: nil) }
    return try await channel.executeThenClose { inbound, outbound in
        try await outbound.write(ByteBuffer(string: bytes))
        var all = ByteBuffer()
        for try await part in inbound { all.writeImmutableBuffer(part) }
        return String(buffer: all)
    }
}
