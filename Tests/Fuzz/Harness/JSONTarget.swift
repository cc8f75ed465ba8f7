import FeedCore

@testable import FeedDialects

/// The reader takes what the grammar takes, down to a depth of 32, and nothing else.
enum JSONTarget {
    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        var reader = JSONReader(input)
        let isTaken = (try? reader.skip()) != nil && (try? reader.end()) != nil
        let depth = StrictJSON.depth(of: input)
        promise(isTaken == (depth.map { $0 <= 32 } ?? false), "the reader says \(isTaken), the grammar \(String(describing: depth))")
        _ = JSONMembers(input.span)
        var text = JSONReader(input)
        if let text = try? text.string() {
            let quoted = text.quotedAsJSON
            promise(StrictJSON.depth(of: quoted.utf8) == 0, "quoted, a string is no JSON")
            var again = quoted
            let read = again.withUTF8 { bytes in
                var reader = JSONReader(bytes)
                return try? reader.string()
            }
            promise(read == text, "a string does not survive being quoted")
        }
        var integer = JSONReader(input)
        if let value = try? integer.integer(Int64.self) { promise(String(value).utf8.allSatisfy { $0 != 0x2E }, "no integer") }
        if isTaken, let row = JSONRow(String(decoding: input, as: UTF8.self)) { row.check() }
    }
}

extension JSONRow {
    /// What readers get is one JSON text on one line.
    func check() {
        promise(StrictJSON.depth(of: text.utf8) != nil, "a row is no JSON: \(text)")
        promise(text.utf8.allSatisfy { $0 >= 0x20 }, "a row does not stand on one line")
    }
}
