import FuturesGateway
import GatewayAccess
import Glibc

extension ServeConfiguration {
    /// The recording from the settings `tape-*`; nil for none, or if they are invalid.
    static func tape(_ settings: Settings<ServeSettings>, mistakes: inout [String]) -> TapeConfiguration? {
        let list = settings.list
        guard let directory = settings.tapeDirectory else {
            if let given = settings.given(list.tapeStreams) {
                mistakes.append("\(given.subject(list.tapeStreams)) has no effect without tape-directory; set it to the directory to record in.")
            }
            return nil
        }
        if let mistake = mistake(inDirectory: directory) {
            mistakes.append("\(settings.given(list.tapeDirectory)?.place ?? ""): \(directory) \(mistake)")
            return nil
        }
        var tape = TapeConfiguration(directory: directory, streams: settings.tapeStreams ?? [StreamPattern("*")].compactMap(\.self))
        (tape.keep, tape.bytes) = (.seconds(settings.tapeKeep * 3600), settings.tapeBytes)
        tape.recordsMessages = settings.tapeMessages
        tape.frameBytes = settings.tapeFramesBytes
        return tape
    }

    /// Nil if the directory is writable by its permissions, or can be created.
    private static func mistake(inDirectory path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let parent = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            let above = parent.isEmpty ? path.hasPrefix("/") ? "/" : "." : parent
            return access(above, W_OK | X_OK) == 0 ? nil : "cannot be created; check the path and the permissions."
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { return "is not a directory." }
        // A disk that has become read-only must not prevent the start of the feed. The gateway then reports that nothing is recorded until the disk
        // is writable.
        return access(path, R_OK | W_OK | X_OK) == 0 || errno == EROFS ? nil : "cannot be written; check the permissions."
    }
}
