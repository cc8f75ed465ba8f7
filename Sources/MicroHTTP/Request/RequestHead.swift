import CMicroHTTPD
import Glibc

/// A request head parsed by libmicrohttpd and copied out of its buffers.
struct RequestHead: Sendable {
    var method: String
    /// The target as sent, or `nil` if it is not UTF-8.
    var target: String?
    var version: String
    var headers: [HTTPHeader] = []
    /// The approximate memory of the connection that the head uses: its bytes and a record for each field and cookie.
    var memory: Int
    /// Whether method, target, version and fields are separated by exactly one SP or CRLF. libmicrohttpd accepts doubled spaces, bare LF and folded
    /// lines, and cuts at NUL; each of these leaves a gap that is visible here.
    var isWellSpaced: Bool
}

extension RequestHead {
    /// Reads the head in the first call of the access handler.
    init(_ unread: UnreadHead) {
        let (connection, target, url) = (unread.connection, unread.target, unread.url)
        let (method, version) = (unread.method, unread.version)
        self.method = String(cString: method)
        self.target = String(validating: target, as: UTF8.self)
        self.version = String(cString: version)
        var reader = FieldReader(end: UnsafeRawPointer(version) + self.version.utf8.count)
        _ = withUnsafeMutablePointer(to: &reader) { reader in
            MHD_get_connection_values_n(connection, .HEADER_KIND, readField, reader)
        }
        headers = reader.fields
        let methodEnd = UnsafeRawPointer(method) + strlen(method)
        let targetEnd = UnsafeRawPointer(url) + target.count
        let headSize = cmhd_head_size(connection)
        let headEnd = UnsafeRawPointer(method) + headSize
        let cookies = headers.filter { $0.name.equalsIgnoringCase("Cookie") }.map(\.value.utf8)
        let records = headers.count + cookies.reduce(0) { $0 + $1.count { $0 == UInt8(ascii: ";") } + 1 }
        memory = headSize + cookies.reduce(0) { $0 + $1.count } + records * 64
        isWellSpaced =
            methodEnd + 1 == UnsafeRawPointer(url) && targetEnd + 1 == UnsafeRawPointer(version)
            && !reader.hasGap && reader.end + 4 == headEnd
    }
}

private struct FieldReader {
    var fields: [HTTPHeader] = []
    var end: UnsafeRawPointer
    var hasGap = false
}

private func readField(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, nameSize: Int, value: UnsafePointer<CChar>?,
    valueSize: Int
) -> MHD_Result {
    guard let reader = context?.assumingMemoryBound(to: FieldReader.self), let name else { return .NO }
    let nameBytes = UnsafeRawBufferPointer(start: name, count: nameSize)
    let valueBytes = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueSize)
    if reader.pointee.end + 2 != UnsafeRawPointer(name) { reader.pointee.hasGap = true }
    reader.pointee.end = value.map { UnsafeRawPointer($0) + valueSize } ?? UnsafeRawPointer(name) + nameSize
    let trailing = valueBytes.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count
    reader.pointee.fields.append(
        HTTPHeader(name: String(decoding: nameBytes, as: UTF8.self), value: String(decoding: valueBytes.dropLast(trailing), as: UTF8.self)))
    return .YES
}
