import Foundation

/// A JSON value, read by Foundation, so that the tests share no parser with what they test.
struct VenueJSON: CustomStringConvertible {
    let value: Any

    init(_ text: String) throws {
        value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed])
    }

    private init(value: Any) { self.value = value }

    subscript(key: String) -> VenueJSON? {
        (value as? [String: Any])?[key].map(VenueJSON.init(value:))
    }

    var rows: [VenueJSON] { (value as? [Any])?.map(VenueJSON.init(value:)) ?? [] }
    var isObject: Bool { value is [String: Any] }
    var isArray: Bool { value is [Any] }
    var keys: Set<String> { Set((value as? [String: Any] ?? [:]).keys) }
    var string: String { value as? String ?? "" }
    var integer: Int64 { (value as? NSNumber)?.int64Value ?? .min }
    var bool: Bool? { value as? Bool }
    var description: String { "\(value)" }

    /// A decimal text as units of 1e-8.
    var units8: Int64? {
        let parts = string.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count <= 8 else { return Int64(string).map { $0 * 100_000_000 } }
        return Int64(parts[0] + parts[1] + String(repeating: "0", count: 8 - parts[1].count))
    }
}
