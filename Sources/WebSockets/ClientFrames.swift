/// Reads the frames of one client and joins its messages (RFC 6455 §5). It can be given the bytes in pieces of any size.
///
/// Nothing is kept between two frames unless a message is incomplete, so that an idle connection needs no memory here.
package struct ClientFrames {
    package enum Event: Equatable, Sendable {
        case text([UInt8])
        case binary([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        /// `code` is nil if the frame has none.
        case close(code: UInt16?)
    }

    /// The client broke the protocol or a limit. The connection must be closed with this code.
    package struct Violation: Error, Equatable {
        package let code: UInt16
        package let reason: String

        static func protocolError(_ reason: String) -> Violation { Violation(code: CloseCode.protocolError, reason: reason) }
    }

    /// A frame whose head has arrived.
    private struct Frame {
        let opcode: UInt8
        let isLast: Bool
        let mask: UInt32
        let length: UInt64
        var read: UInt64 = 0

        var isControl: Bool { opcode >= 8 }
    }

    /// The part of a frame or message that has arrived.
    private final class Part {
        var head: [UInt8] = []
        var frame: Frame?
        var control: [UInt8] = []
        var message: [UInt8] = []
        /// How many frames the message has so far.
        var frames = 0
        /// Text or binary; nil between messages.
        var opcode: UInt8?
        var text = UTF8Validator()
    }

    private var part: Part?
    private let mostBytes: UInt32

    /// - Parameter maximumMessageBytes: The size of the largest message over all its fragments.
    package init(maximumMessageBytes: Int) { mostBytes = UInt32(clamping: maximumMessageBytes) }

    private var maximumMessageBytes: Int { Int(mostBytes) }
    /// The maximum number of frames of one message. Empty ones would otherwise be without a limit.
    private var mostFrames: Int { max(1_024, maximumMessageBytes / 16) }

    /// Whether a message or a frame is incomplete.
    package var isIncomplete: Bool { part != nil }

    /// Reads more bytes.
    ///
    /// - Parameter event: Called for each complete message and control frame; false to read no further.
    package mutating func read(_ bytes: UnsafeRawBufferPointer, _ event: (Event) -> Bool) throws(Violation) {
        var position = 0
        let part = self.part ?? Part()
        self.part = part
        while position < bytes.count {
            if part.frame == nil { part.frame = try head(part, bytes, &position) }
            guard var frame = part.frame else { return }
            let count = Int(min(frame.length - frame.read, UInt64(bytes.count - position)))
            try take(UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)]), frame, part)
            position += count
            frame.read += UInt64(count)
            guard frame.read == frame.length else {
                part.frame = frame
                return
            }
            part.frame = nil
            guard let complete = try end(frame, part) else { continue }
            guard event(complete) else { return }
        }
        if part.head.isEmpty, part.frame == nil, part.opcode == nil { self.part = nil }
    }

    /// Reads the head of a frame; nil if it is incomplete.
    private func head(_ part: Part, _ bytes: UnsafeRawBufferPointer, _ position: inout Int) throws(Violation) -> Frame? {
        while true {
            let known = part.head
            if known.count >= 2 {
                try check(known[0], known[1], isInMessage: part.opcode != nil)
                let lengthBytes = known[1] & 0x7F == 126 ? 2 : known[1] & 0x7F == 127 ? 8 : 0
                if known.count == 2 + lengthBytes + 4 {
                    part.head = []
                    return try frame(known, lengthBytes, besides: part.message.count)
                }
            }
            guard position < bytes.count else { return nil }
            part.head.append(bytes[position])
            position += 1
        }
    }

    private func check(_ first: UInt8, _ second: UInt8, isInMessage: Bool) throws(Violation) {
        guard first & 0x70 == 0 else { throw .protocolError("a reserved bit is set") }
        guard second & 0x80 != 0 else { throw .protocolError("a frame is not masked") }
        switch first & 0x0F {
        case 0: guard isInMessage else { throw .protocolError("a message that did not begin is continued") }
        case 1, 2: guard !isInMessage else { throw .protocolError("a message begins before the previous one ended") }
        case 8, 9, 10:
            guard first & 0x80 != 0 else { throw .protocolError("a control frame is fragmented") }
            guard second & 0x7F <= 125 else { throw .protocolError("a control frame has more than 125 bytes") }
        default: throw .protocolError("an opcode is reserved")
        }
    }

    private func frame(_ head: [UInt8], _ lengthBytes: Int, besides count: Int) throws(Violation) -> Frame {
        var length = UInt64(head[1] & 0x7F)
        if lengthBytes > 0 { length = head[2..<(2 + lengthBytes)].reduce(0) { $0 << 8 | UInt64($1) } }
        let mask = head.suffix(4).reduce(UInt32(0)) { $0 >> 8 | UInt32($1) << 24 }
        let frame = Frame(opcode: head[0] & 0x0F, isLast: head[0] & 0x80 != 0, mask: mask, length: length)
        guard length < 1 << 63 else { throw .protocolError("a length has its highest bit set") }
        guard frame.isControl || length <= UInt64(max(0, maximumMessageBytes - count)) else {
            throw Violation(code: CloseCode.messageTooBig, reason: "a message has more than \(maximumMessageBytes) bytes")
        }
        return frame
    }

    /// Adds a piece of a frame's payload without its mask.
    private func take(_ bytes: UnsafeRawBufferPointer, _ frame: Frame, _ part: Part) throws(Violation) {
        if frame.isControl {
            unmask(bytes, frame, onto: &part.control)
        } else {
            if frame.opcode != 0, part.opcode == nil {
                part.opcode = frame.opcode
                part.text = UTF8Validator()
            }
            let start = part.message.count
            unmask(bytes, frame, onto: &part.message)
            guard part.opcode == 1 else { return }
            let isText = part.message.withUnsafeBytes { part.text.accepts(UnsafeRawBufferPointer(rebasing: $0[start...])) }
            guard isText else { throw Self.notUTF8 }
        }
    }

    private func unmask(_ bytes: UnsafeRawBufferPointer, _ frame: Frame, onto payload: inout [UInt8]) {
        let start = payload.count
        payload.append(contentsOf: bytes)
        // The mask as of the first of these bytes, twice.
        let turn = UInt32(frame.read & 3) * 8
        let mask = turn == 0 ? frame.mask : frame.mask >> turn | frame.mask << (32 - turn)
        let wide = UInt64(mask) << 32 | UInt64(mask)
        payload.withUnsafeMutableBytes { payload in
            var place = start
            while payload.count - place >= 8 {
                let eight = UInt64(littleEndian: payload.loadUnaligned(fromByteOffset: place, as: UInt64.self)) ^ wide
                payload.storeBytes(of: eight.littleEndian, toByteOffset: place, as: UInt64.self)
                place += 8
            }
            var rest = wide
            while place < payload.count {
                payload[place] ^= UInt8(truncatingIfNeeded: rest)
                rest >>= 8
                place += 1
            }
        }
    }

    /// Ends a frame. Nil if its message continues.
    private func end(_ frame: Frame, _ part: Part) throws(Violation) -> Event? {
        guard !frame.isControl else {
            let payload = part.control
            part.control = []
            switch frame.opcode {
            case 9: return .ping(payload)
            case 10: return .pong(payload)
            default: return .close(code: try closeCode(payload))
            }
        }
        part.frames += 1
        guard part.frames <= mostFrames else {
            throw Violation(code: CloseCode.policyViolation, reason: "a message has more than \(mostFrames) frames")
        }
        guard frame.isLast else { return nil }
        part.frames = 0
        let (payload, isText) = (part.message, part.opcode == 1)
        guard !isText || part.text.isComplete else { throw Self.notUTF8 }
        (part.message, part.opcode) = ([], nil)
        return isText ? .text(payload) : .binary(payload)
    }

    private func closeCode(_ payload: [UInt8]) throws(Violation) -> UInt16? {
        guard !payload.isEmpty else { return nil }
        guard payload.count > 1 else { throw .protocolError("a close frame has one byte") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard CloseCode.mayBeSent(code) else { throw .protocolError("a close code may not be sent") }
        var text = UTF8Validator()
        guard payload.withUnsafeBytes({ text.accepts(UnsafeRawBufferPointer(rebasing: $0[2...])) }), text.isComplete else { throw Self.notUTF8 }
        return code
    }

    private static let notUTF8 = Violation(code: CloseCode.invalidPayload, reason: "a text is not UTF-8")
}
