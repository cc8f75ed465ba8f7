package import NIOCore

/// The headers of a message as received: `NATS/1.0`, optionally a status, then lines of name and value (ADR-4 of nats-architecture-and-design).
///
/// Servers pass on publishers' headers unchecked. A malformed block therefore counts as one without status and fields, not as a connection error.
package struct HeaderBlock: Sendable, Equatable {
    private let bytes: ByteBuffer

    package init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// The status set by the server: 100 (heartbeat, flow control), 404, 409, 503 (no responders) and others.
    package var status: Int? {
        let line = bytes.readableBytesView.prefix { $0 != UInt8(ascii: "\r") }
        guard line.starts(with: "NATS/1.0 ".utf8) else { return nil }
        return line.dropFirst(9).prefix { $0 != UInt8(ascii: " ") }.decimal(below: 1000)
    }

    /// The value of the first field with this name, without surrounding spaces; names are case-sensitive.
    package subscript(name: String) -> String? {
        let view = bytes.readableBytesView
        guard view.starts(with: "NATS/1.0".utf8) else { return nil }
        for line in view.split(separator: UInt8(ascii: "\n")).dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), line[..<colon].elementsEqual(name.utf8) else { continue }
            let value = line[(colon + 1)...].trimmingPrefix { $0 == UInt8(ascii: " ") }
            return String(decoding: value.reversed().drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }.reversed(), as: UTF8.self)
        }
        return nil
    }
}

extension Collection<UInt8> {
    /// The number written with these digits, if it is below `bound`.
    func decimal(below bound: Int) -> Int? {
        guard !isEmpty else { return nil }
        var number = 0
        for byte in self {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOver) = product.addingReportingOverflow(Int(byte &- UInt8(ascii: "0")))
            guard !isTooLarge, !isOver else { return nil }
            number = sum
        }
        return number < bound ? number : nil
    }
}
