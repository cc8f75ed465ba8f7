import Glibc

/// Why a file of the tape cannot be read or written.
package struct TapeError: Error, Sendable, Equatable {
    package enum Code: String, Sendable, CaseIterable {
        /// The disk has no room.
        case full
        /// The disk, or the directory, cannot be written.
        case readOnly
        /// Another process writes this tape.
        case inUse
        /// The tape belongs to another venue.
        case otherVenue
        /// The directory or file does not exist, or contains none of the requested data.
        case notFound
        /// A file with that name already exists.
        case exists
        /// Any other error of the operating system.
        case failed
    }

    package let code: Code
    /// What happened, and to which file.
    package let message: String

    package init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    /// The error of the last system call.
    static func last(_ doing: String) -> Self {
        let number = errno
        let code: Code =
            switch number {
            case ENOSPC, EDQUOT, EFBIG: .full
            case EROFS, EACCES, EPERM: .readOnly
            case ENOENT, ENOTDIR: .notFound
            default: .failed
            }
        return Self(code, "\(doing): \(String(cString: strerror(number)))")
    }

    var reason: TapeGap.Reason {
        switch code {
        case .full: .full
        case .readOnly: .readOnly
        case .inUse, .otherVenue, .notFound, .exists, .failed: .failed
        }
    }
}

/// The files of a tape. Tests use one that fails.
package protocol TapeStorage: Sendable {
    /// The files and their sizes, by name.
    func files() throws(TapeError) -> [(name: String, bytes: Int)]
    /// Opens a file for appending, and creates it if necessary.
    func open(_ name: String) throws(TapeError) -> any TapeFile
    /// The bytes from an offset on, fewer at the end of the file.
    func read(_ name: String, at offset: Int, count: Int) throws(TapeError) -> [UInt8]
    func remove(_ name: String) throws(TapeError)
}

/// A file that grows at its end.
package protocol TapeFile: AnyObject {
    func append(_ bytes: [UInt8]) throws(TapeError)
    /// Returns when everything that was appended survives a power loss.
    func sync() throws(TapeError)
    /// Removes the rest of a failed `append`.
    func truncate(to count: Int) throws(TapeError)
    /// Whether it has no name any more. It is lost when this process closes it.
    var isRemoved: Bool { get }
}

/// A tape's directory.
package struct TapeDirectory: TapeStorage {
    private let path: String

    /// - Parameter path: The path of the directory.
    package init(_ path: String) { self.path = path }

    /// Creates the directory if necessary, and locks it for this process until it ends.
    ///
    /// - Returns: An object that holds the lock.
    package func lock() throws(TapeError) -> TapeLock {
        try make()
        let lock = Glibc.open("\(path)/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
        guard lock >= 0 else { throw .last("\(path)/lock cannot be created") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw TapeError(.inUse, "\(path) is in use by another process; give each gateway its own directory")
        }
        return TapeLock(lock)
    }

    /// Creates the directory if necessary.
    func make() throws(TapeError) {
        guard mkdir(path, 0o750) == 0 || errno == EEXIST else { throw .last("\(path) cannot be created") }
    }

    /// The size of a file in bytes.
    func size(of name: String) throws(TapeError) -> Int {
        var status = stat()
        guard stat("\(path)/\(name)", &status) == 0 else { throw .last("\(path)/\(name) cannot be read") }
        return Int(status.st_size)
    }

    private static let venueFile = "venue"

    /// - Throws: `otherVenue` if the directory has another venue's tape.
    package func check(venue: String) throws(TapeError) {
        guard let marked = try self.venue(), marked != venue else { return }
        throw TapeError(.otherVenue, "\(path) is a tape of \(marked), not of \(venue); use another directory")
    }

    /// Notes the venue whose data is recorded here.
    func mark(venue: String) throws(TapeError) {
        guard try !files().contains(where: { $0.name == Self.venueFile }) else { return }
        let file = try open(Self.venueFile)
        try file.append(Array("\(venue)\n".utf8))
        try file.sync()
    }

    package func files() throws(TapeError) -> [(name: String, bytes: Int)] {
        guard let directory = opendir(path) else { throw .last("\(path) cannot be read") }
        defer { closedir(directory) }
        var files: [(name: String, bytes: Int)] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            guard stat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            files.append((name, Int(status.st_size)))
        }
        return files.sorted { $0.name < $1.name }
    }

    package func open(_ name: String) throws(TapeError) -> any TapeFile {
        let file = Glibc.open("\(path)/\(name)", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
        guard file >= 0 else { throw .last("\(path)/\(name) cannot be written") }
        return AppendedFile(file, "\(path)/\(name)")
    }

    package func read(_ name: String, at offset: Int, count: Int) throws(TapeError) -> [UInt8] {
        let file = Glibc.open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .last("\(path)/\(name) cannot be read") }
        defer { close(file) }
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            while done < count {
                let got = pread(file, buffer.baseAddress.map { $0 + done }, count - done, off_t(offset + done))
                if got > 0 { done += got } else if got == 0 { return } else if errno != EINTR { return failed = true }
            }
        }
        if failed { throw .last("\(path)/\(name) cannot be read") }
        return bytes
    }

    /// Renames a file.
    func rename(_ name: String, to other: String) throws(TapeError) {
        guard Glibc.rename("\(path)/\(name)", "\(path)/\(other)") == 0 else { throw .last("\(path)/\(other) cannot be created") }
    }

    /// The venue whose data is recorded here; nil if no tape was begun.
    package func venue() throws(TapeError) -> String? {
        guard try files().contains(where: { $0.name == Self.venueFile }) else { return nil }
        return String(decoding: try read(Self.venueFile, at: 0, count: 1000), as: UTF8.self).split(separator: "\n").first.map(String.init)
    }

    package func remove(_ name: String) throws(TapeError) {
        guard unlink("\(path)/\(name)") == 0 || errno == ENOENT else { throw .last("\(path)/\(name) cannot be removed") }
    }
}

/// Keeps other processes from writing the same tape while it lives.
package final class TapeLock: Sendable {
    private let file: Int32

    fileprivate init(_ file: Int32) { self.file = file }

    deinit { close(file) }
}

private final class AppendedFile: TapeFile {
    private let file: Int32
    private let path: String

    init(_ file: Int32, _ path: String) { (self.file, self.path) = (file, path) }

    deinit { close(file) }

    func append(_ bytes: [UInt8]) throws(TapeError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { rest in rest.baseAddress.map { write(file, $0 + done, rest.count - done) } ?? 0 }
            if count > 0 { done += count } else if count == 0 || errno != EINTR { throw .last("\(path) cannot be written") }
        }
    }

    func sync() throws(TapeError) {
        guard fdatasync(file) == 0 else { throw .last("\(path) cannot be synced") }
    }

    func truncate(to count: Int) throws(TapeError) {
        guard ftruncate(file, off_t(count)) == 0 else { throw .last("\(path) cannot be cut") }
    }

    var isRemoved: Bool {
        var status = stat()
        return fstat(file, &status) == 0 && status.st_nlink == 0
    }
}
