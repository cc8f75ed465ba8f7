/// An origin-form request target, split and then percent-decoded segment by segment, so that an encoded `/` never splits a segment.
struct RequestTarget: Sendable {
    let path: String
    let segments: [String]
    let query: [(name: String, value: String)]

    /// `nil` if the target does not start with `/`, has raw controls, spaces or invalid escapes, or decodes to controls or invalid UTF-8.
    init?(_ target: String) {
        let bytes = target.utf8
        guard bytes.first == UInt8(ascii: "/"), !bytes.contains(where: \.isControlOrSpace) else { return nil }
        let mark = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        path = String(target[..<mark])

        var segments: [String] = []
        if mark != bytes.index(after: bytes.startIndex) {
            for raw in bytes[..<mark].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
                guard let segment = Self.decode(raw) else { return nil }
                segments.append(segment)
            }
        }
        self.segments = segments

        var query: [(name: String, value: String)] = []
        for field in bytes[mark...].dropFirst().split(separator: UInt8(ascii: "&")) {
            let equals = field.firstIndex(of: UInt8(ascii: "=")) ?? field.endIndex
            guard let name = Self.decode(field[..<equals]), let value = Self.decode(field[equals...].dropFirst()) else { return nil }
            query.append((name, value))
        }
        self.query = query
    }

    private static func decode(_ raw: Substring.UTF8View) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(raw.count)
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexDigitValue, let low = rest.popFirst()?.hexDigitValue else { return nil }
            let value = high << 4 | low
            guard value >= 0x20, value != 0x7F else { return nil }
            decoded.append(value)
        }
        guard let text = String(validating: decoded, as: UTF8.self) else { return nil }
        return decoded.contains { $0 >= 0x80 } && text.unicodeScalars.contains { (0x80...0x9F).contains($0.value) } ? nil : text
    }
}

extension UInt8 {
    /// C0 controls, SP and DEL never appear raw in a request target.
    var isControlOrSpace: Bool { self <= 0x20 || self == 0x7F }

    fileprivate var hexDigitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
