import CMicroHTTPD
import Glibc
import Synchronization

/// A request head that passed the guard, announced no body and got a prepared answer. Clients that repeat a request send the same bytes, so the
/// result of parsing and checking them is reused.
final class KnownHead: Sendable {
    let head: RequestHead
    let key: PreparedAnswers.Key
    let noneMatch: String?
    fileprivate let target: [UInt8]
    /// The head as libmicrohttpd left it in its buffer, with zeros after its parts.
    fileprivate let bytes: [UInt8]
    /// Where the target, the version and each field's name and value start and end, from the head's start.
    fileprivate let places: [Int32]

    fileprivate init(_ head: RequestHead, _ key: PreparedAnswers.Key, target: [UInt8], bytes: [UInt8], places: [Int32]) {
        (self.head, self.key) = (head, key)
        noneMatch = head.headers.value(of: "If-None-Match")
        (self.target, self.bytes, self.places) = (target, bytes, places)
    }

    fileprivate func isEqual(to others: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == others.count, let start = others.baseAddress else { return false }
        return memcmp(bytes, start, bytes.count) == 0
    }
}

/// A head in libmicrohttpd's buffer, during the first call of the access handler.
struct UnreadHead {
    let connection: OpaquePointer
    let target: [UInt8]
    let url: UnsafePointer<CChar>
    let method: UnsafePointer<CChar>
    let version: UnsafePointer<CChar>

    fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: method, count: cmhd_head_size(connection)) }

    /// A zero in the head may mean a space or a line end. The positions of its parts distinguish them.
    fileprivate var places: [Int32] { visited(Places(start: method, known: nil)).found }

    fileprivate func isAt(_ known: [Int32]) -> Bool {
        let places = visited(Places(start: method, known: known))
        return places.areEqual && places.count == known.count
    }

    private func visited(_ unvisited: Places) -> Places {
        var places = unvisited
        places.visit(url)
        places.visit(version)
        _ = withUnsafeMutablePointer(to: &places) { MHD_get_connection_values_n(connection, .HEADER_KIND, visitField, $0) }
        return places
    }
}

/// The most recent heads, found by their bytes. Bounded; call it from any thread.
final class KnownHeads: Sendable {
    private static let size = 256
    private static let longest = 1024
    private static let credentials = ["Authorization", "Cookie", "X-API-Key"]
    private let heads = Mutex<[KnownHead?]>(Array(repeating: nil, count: size))

    /// The same head, if it is known.
    func find(_ unread: UnreadHead) -> KnownHead? {
        let bytes = unread.bytes
        guard bytes.count <= Self.longest, let known = heads.withLock({ $0[Self.place(of: bytes)] }), known.target == unread.target,
            known.isEqual(to: bytes), unread.isAt(known.places)
        else { return nil }
        return known
    }

    /// Remembers a head that passed the guard and announces no body, unless it is long or identifies the client.
    ///
    /// - Parameter key: The key of its prepared answer.
    func remember(_ head: RequestHead, _ key: PreparedAnswers.Key, _ unread: UnreadHead) {
        let bytes = unread.bytes
        guard bytes.count <= Self.longest, !Self.credentials.contains(where: { head.headers.value(of: $0) != nil }) else { return }
        let known = KnownHead(head, key, target: unread.target, bytes: Array(bytes), places: unread.places)
        heads.withLock { $0[Self.place(of: bytes)] = known }
    }

    private static func place(of bytes: UnsafeRawBufferPointer) -> Int {
        var hash = UInt64(truncatingIfNeeded: bytes.count)
        var place = 0
        while bytes.count - place >= 8 {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)) &* 0xFF51_AFD7_ED55_8CCD
            hash ^= hash >> 32
            place += 8
        }
        for byte in bytes[place...] { hash = (hash ^ UInt64(byte)) &* 0xFF51_AFD7_ED55_8CCD }
        return Int(truncatingIfNeeded: (hash ^ hash >> 32) & UInt64(size - 1))
    }
}

/// Collects the positions of a head's parts, or compares them with known ones, which needs no memory.
private struct Places {
    let start: UnsafePointer<CChar>
    let known: [Int32]?
    var found: [Int32] = []
    var count = 0
    var areEqual = true

    mutating func visit(_ pointer: UnsafePointer<CChar>) {
        let place = Int32(truncatingIfNeeded: pointer - start)
        if let known {
            areEqual = areEqual && count < known.count && known[count] == place
        } else {
            found.append(place)
        }
        count += 1
    }
}

private func visitField(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, nameSize: Int, value: UnsafePointer<CChar>?,
    valueSize: Int
) -> MHD_Result {
    guard let places = context?.assumingMemoryBound(to: Places.self), let name else { return .NO }
    places.pointee.visit(name)
    places.pointee.visit(name + nameSize)
    guard let value else { return .YES }
    places.pointee.visit(value)
    places.pointee.visit(value + valueSize)
    return .YES
}
