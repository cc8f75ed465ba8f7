import Foundation
import Logging

/// The format of the program log.
enum LogFormat: String, CaseIterable {
    /// For people: `2026-11-21T12:00:00.000Z notice connected url=wss://…`
    case text
    /// For programs: one JSON object per line, with `time`, `level`, `message` and, if there is any, `metadata`.
    case json

    /// Text on a terminal, otherwise JSON.
    static var standard: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }
}

/// One line of the program log.
struct LogLine {
    var time = Date.now
    let level: Logger.Level
    let message: String
    var metadata: Logger.Metadata = [:]

    /// The line with its end. It stays one line with any content.
    func bytes(_ format: LogFormat) -> [UInt8] {
        let time = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let metadata = metadata.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
        switch format {
        case .text:
            let words = metadata.map { " \($0)=\($1.contains(" ") || $1.contains("\"") ? Self.quoted($1) : $1.plain)" }
            return Array("\(time) \(level) \(message.plain)\(words.joined())\n".utf8)
        case .json:
            let members = metadata.map { "\(Self.quoted($0)):\(Self.quoted($1))" }.joined(separator: ",")
            let more = members.isEmpty ? "" : ",\"metadata\":{\(members)}"
            return Array("{\"time\":\"\(time)\",\"level\":\"\(level)\",\"message\":\(Self.quoted(message))\(more)}\n".utf8)
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").plain + "\""
    }
}
