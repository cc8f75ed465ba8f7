import Foundation

/// What venues really sent, `Tests/FeedDialectsTests/Fixtures/venue`; its README names sources and licences.
package enum VenueFixtures {
    private static let folder = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "../FeedDialectsTests/Fixtures/venue").standardized

    /// Half a minute of one connection, and the snapshots of its four books.
    package static let session = "cryptofeed/BINANCE_FUTURES.ws.1.0.gz"
    package static let sessionSnapshots = "cryptofeed/BINANCE_FUTURES.http.0.0.gz"

    /// The files of a folder, or of a kind.
    package static func files(_ isWanted: (String) -> Bool) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false)).filter(isWanted).sorted()
    }

    /// A file's content; that of a gzip file is unpacked.
    package static func bytes(_ path: String) throws -> [UInt8] {
        let bytes = Array(try Data(contentsOf: folder.appending(path: path)))
        guard path.hasSuffix(".gz") else { return bytes }
        var inflater = Inflater()
        let content = try inflater.read(bytes)
        guard inflater.isComplete else { throw Unexpected("\(path) ends early") }
        return content
    }

    package static func text(_ path: String) throws -> String { String(decoding: try bytes(path), as: UTF8.self) }

    package static func lines(_ path: String) throws -> [String] { try text(path).split(separator: "\n").map(String.init) }

    /// Hands over a path to a file with the content, which is deleted afterwards.
    package static func unpacking(_ path: String, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).fixture")
        try Data(try bytes(path)).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file.path(percentEncoded: false))
    }
}
