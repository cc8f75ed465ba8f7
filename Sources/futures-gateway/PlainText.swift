/// External text for a terminal. It must not move the cursor, change colors or reorder the text around it.
extension StringProtocol {
    /// The text with JSON escapes in place of control characters, line ends and directional marks.
    var plain: String {
        guard unicodeScalars.contains(where: Self.isActive) else { return String(self) }
        return unicodeScalars.reduce(into: "") { result, scalar in
            guard Self.isActive(scalar) else { return result.unicodeScalars.append(scalar) }
            let digits = String(scalar.value, radix: 16)
            result += "\\u" + String(repeating: "0", count: Swift.max(0, 4 - digits.count)) + digits
        }
    }

    /// The same for text of several lines, whose line feeds stay.
    var plainLines: String {
        // A carriage return and a line feed are one character, but two scalars.
        unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String(String.UnicodeScalarView($0)).plain }.joined(
            separator: "\n")
    }

    private static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F: true
        case 0x2028, 0x2029: true
        // Directional marks, embeddings, overrides and isolates (Unicode Standard Annex 9).
        case 0x61C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
