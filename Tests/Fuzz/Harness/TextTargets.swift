import FeedCore
import FeedDialects

@testable import MicroHTTP

/// Names, ids and what stands in an address.
enum TextTargets {
    /// A name that is read is written as it was, but for its letters' case.
    static func names(_ input: UnsafeBufferPointer<UInt8>) {
        let text = String(decoding: input, as: UTF8.self)
        guard let name = FuturesServiceStreamName(text) else { return }
        promise(FuturesServiceStreamName(name.description) == name, "\(name) is not read as it is written")
        promise(name.description.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != 0x22 && $0 != 0x2C }, "\(name) has to be escaped")
        if name.channel != .upstream {
            promise(name.description == text, "\(text) becomes \(name)")
        }
        promise(name.description.percentEncoded.percentDecoded == name.description, "\(name) does not survive an address")
    }

    /// Targets of requests, ids of events, and percent-encoding.
    static func requests(_ input: UnsafeBufferPointer<UInt8>) {
        let text = String(decoding: input, as: UTF8.self)
        promise(text.percentEncoded.percentDecoded == text, "\(text) does not survive an address")
        _ = text.percentDecoded
        if let id = EventID(text) { promise(id.description == text, "\(text) is printed as \(id)") }
        if let target = RequestTarget(text) {
            let values = target.segments + target.query.flatMap { [$0.name, $0.value] }
            for value in values {
                promise(
                    value.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }, "a control character comes through")
            }
            promise(target.path.utf8.first == 0x2F && !target.path.utf8.contains(0x3F), "a path is \(target.path)")
            let again = "/" + target.segments.map(\.percentEncoded).joined(separator: "/")
            if let second = RequestTarget(again), target.segments != [""] {
                promise(second.segments == target.segments, "\(again) is taken apart otherwise")
            }
        }
    }
}
