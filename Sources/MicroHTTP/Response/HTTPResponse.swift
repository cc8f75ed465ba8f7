import CMicroHTTPD
import Glibc
import Synchronization

/// A response whose complete body is known. libmicrohttpd adds `Date`, `Content-Length` and, if needed, `Connection: close`.
public struct HTTPResponse: Sendable {
    /// 200...599.
    public var status: Int
    /// The response's own fields; the server adds the configuration's common ones. A value must not be empty or contain a line end.
    public var headers: [HTTPHeader]
    /// The body, shared by all responses that use it. A 304 or a response to HEAD states its length and omits it.
    public var content: SharedBytes

    /// A copy of the body, for inspection.
    public var body: [UInt8] { content.bytes }

    /// Creates a response that copies its body once.
    public init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.init(status: status, headers: headers, content: body.isEmpty ? .empty : SharedBytes(body))
    }

    /// Creates a response that shares an immutable body with others.
    public init(status: Int, headers: [HTTPHeader] = [], content: SharedBytes) {
        self.status = status
        self.headers = headers
        self.content = content
    }
}

/// Immutable bytes at a fixed address, shared by any number of responses.
public final class SharedBytes: Sendable {
    static let empty = SharedBytes([])

    nonisolated(unsafe) let buffer: UnsafeRawBufferPointer

    /// The number of bytes.
    public var count: Int { buffer.count }

    /// A copy of the bytes.
    public var bytes: [UInt8] { Array(buffer) }

    /// Copies the bytes once.
    public init(_ bytes: some Collection<UInt8>) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        copy.copyBytes(from: bytes)
        buffer = UnsafeRawBufferPointer(copy)
    }

    deinit {
        buffer.deallocate()
        if let file = file.withLock({ $0 }) { close(file) }
    }

    private let file = Mutex<Int32?>(nil)

    /// A descriptor of an anonymous file with the bytes, which the caller closes; the kernel sends such a file without copying it. The file is
    /// written once. Nil if no descriptor or memory is available.
    func openFile() -> Int32? {
        let file: Int32? = file.withLock { file in
            file = file ?? makeFile()
            return file
        }
        guard let copy = file.map({ fcntl($0, F_DUPFD_CLOEXEC, 0) }), copy >= 0 else { return nil }
        return copy
    }

    private func makeFile() -> Int32? {
        let file = cmhd_anonymous_file()
        guard file >= 0 else { return nil }
        var written = 0
        while written < buffer.count {
            let count = write(file, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            guard count > 0 else {
                close(file)
                return nil
            }
            written += count
        }
        return file
    }
}
