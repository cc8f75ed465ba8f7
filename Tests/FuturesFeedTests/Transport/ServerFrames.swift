@testable import FuturesFeed

/// One frame as its bytes go over the wire, right or wrong.
func frame(
    _ opcode: UInt8, _ payload: [UInt8] = [], fin: Bool = true, reserved: UInt8 = 0, mask: [UInt8]? = nil, announcing length: Int? = nil
) -> [UInt8] {
    let length = length ?? payload.count
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    var bytes: [UInt8] = [(fin ? 0x80 : 0) | reserved << 4 | opcode]
    switch length {
    case ...125: bytes.append(maskBit | UInt8(length))
    case ...0xFFFF: bytes += [maskBit | 126, UInt8(length >> 8), UInt8(length & 0xFF)]
    default: bytes += [maskBit | 127] + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) }
    }
    bytes += mask ?? []
    bytes += mask.map { mask in payload.enumerated().map { $1 ^ mask[$0 % 4] } } ?? payload
    return bytes
}

func text(_ text: String, fin: Bool = true) -> [UInt8] { frame(1, Array(text.utf8), fin: fin) }

func close(_ code: Int, _ reason: String = "") -> [UInt8] { frame(8, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)) }

/// A frame as the client sent it, with its mask taken off.
struct ClientFrame: Sendable, Equatable {
    var opcode: UInt8
    var payload: [UInt8]
    var mask: [UInt8]

    var closeCode: Int? { payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }

    static func == (left: ClientFrame, right: ClientFrame) -> Bool { left.opcode == right.opcode && left.payload == right.payload }

    static func sent(_ opcode: UInt8, _ payload: [UInt8] = []) -> ClientFrame { ClientFrame(opcode: opcode, payload: payload, mask: []) }
}

extension RawPeer {
    struct BadClientFrame: Error { let head: [UInt8] }

    /// Reads one client frame; throws where it is not one whole masked frame without reserved bits (RFC 6455 §5.1).
    func readFrame() async throws -> ClientFrame {
        let head = try await read(2)
        guard head[0] & 0xF0 == 0x80, head[1] & 0x80 != 0 else { throw BadClientFrame(head: head) }
        var length = Int(head[1] & 0x7F)
        if length >= 126 { length = try await read(length == 126 ? 2 : 8).reduce(0) { $0 << 8 | Int($1) } }
        let mask = try await read(4)
        let payload = try await read(length).enumerated().map { $1 ^ mask[$0 % 4] }
        return ClientFrame(opcode: head[0] & 0x0F, payload: payload, mask: mask)
    }

    /// Reads the client's upgrade request and accepts it; `following` leaves in the same write as the answer.
    @discardableResult
    func upgrade(headers: String = "", following: [UInt8] = []) async throws -> [String] {
        let request = try await readHead()
        try accept(request, headers: headers, following: following)
        return request
    }

    /// Accepts an upgrade request that has been read.
    func accept(_ request: [String], headers: String = "", following: [UInt8] = []) throws {
        let accept = try acceptValue(request)
        write(
            Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n".utf8)
                + Array("Sec-WebSocket-Accept: \(accept)\r\n\(headers)\r\n".utf8) + following)
    }
}

func header(_ name: String, in request: [String]) -> String? {
    request.dropFirst().first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
}

/// `Sec-WebSocket-Accept` for a request (RFC 6455 §4.2.2), from the SHA-1 of the test's own.
func acceptValue(_ request: [String]) throws -> String {
    struct NoKey: Error {}
    guard let key = header("Sec-WebSocket-Key", in: request) else { throw NoKey() }
    return base64(sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
}

func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for place in 0..<4 { text.append(place <= group.count ? alphabet[bits >> (18 - 6 * place) & 63] : "=") }
    }
    return text
}

func sha1(_ message: [UInt8]) -> [UInt8] {
    var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var padded = message + [0x80]
    while padded.count % 64 != 56 { padded.append(0) }
    padded += (0..<8).map { UInt8(truncatingIfNeeded: (message.count * 8) >> (56 - 8 * $0)) }
    for block in stride(from: 0, to: padded.count, by: 64) {
        var words = (0..<16).map { word in (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(padded[block + word * 4 + $1]) } }
        for index in 16..<80 {
            let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words.append(mixed << 1 | mixed >> 31)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (index, word) in words.enumerated() {
            let (choice, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: (b & c | ~b & d, 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            (a, b, c, d, e) = ((a << 5 | a >> 27) &+ choice &+ e &+ constant &+ word, a, b << 30 | b >> 2, c, d)
        }
        state = zip(state, [a, b, c, d, e]).map { $0 &+ $1 }
    }
    return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
}
