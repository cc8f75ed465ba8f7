import Foundation

/// A JSON value, read by Foundation, so that the tests share no parser with what they test.
package enum JSON: Sendable, Equatable {
    case null
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    package init(_ text: String) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }

    package subscript(name: String) -> JSON? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    package var names: Set<String> { if case .object(let members) = self { Set(members.keys) } else { [] } }
    package var array: [JSON]? { if case .array(let elements) = self { elements } else { nil } }
    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var integer: Int64? { if case .integer(let integer) = self { integer } else { nil } }
    package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    /// The strings of an array.
    package var texts: [String] { (array ?? []).compactMap(\.text) }
}

extension JSON: Decodable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .string(text)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let members = try? container.decode([String: JSON].self) {
            self = .object(members)
        } else if let elements = try? container.decode([JSON].self) {
            self = .array(elements)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if container.decodeNil() {
            self = .null
        } else {
            self = .number(try container.decode(Double.self))
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(stringLiteral text: String) { self = .string(text) }
    package init(integerLiteral integer: Int64) { self = .integer(integer) }
    package init(booleanLiteral flag: Bool) { self = .flag(flag) }
}
