import Foundation
import Testing

/// Frames recorded from real venues, beside the project; tests that want them skip where they are absent.
enum Recordings {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../shared/recordings").standardized

    static var areThere: Bool { FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) }

    static func lines(_ path: String) throws -> [String] {
        try String(contentsOf: folder.appending(path: path), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: path)))
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips, saying so, where the recordings are absent.
    static var needsRecordings: Self { .enabled(if: Recordings.areThere, "the recordings are not beside the project") }
}
