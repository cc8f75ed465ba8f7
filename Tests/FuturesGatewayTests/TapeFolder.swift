import Foundation

/// Where tests record.
enum TapeFolder {
    /// A directory that does not exist yet: in memory if there is such a place, since a slow disk would hold up every test of the process.
    static func new() -> String {
        let memory = "/dev/shm/"
        let place = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
        return place + "futures-gateway-\(UUID())"
    }

    /// A new directory, for the time of the call.
    static func use(_ body: (String) async throws -> Void) async throws {
        let path = new()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }
}
