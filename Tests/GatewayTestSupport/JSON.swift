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
        self = try JSON(JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
    }

    // No `Decodable`: it finds a value's type by trying, and Swift Testing unwinds the stack of every error thrown.
    private init(_ value: Any) throws {
        switch value {
        case let text as String: self = .string(text)
        case let members as [String: Any]: self = .object(try members.mapValues(JSON.init))
        case let elements as [Any]: self = .array(try elements.map(JSON.init))
        case let number as NSNumber: self = JSON(number)
        case is NSNull: self = .null
        default: throw Unexpected("no JSON value: \(value)")
        }
    }

    private init(_ number: NSNumber) {
        // The type of a flag is that of a C character; no number has it.
        if number.objCType.pointee == CChar(UInt8(ascii: "c")) {
            self = .flag(number.boolValue)
        } else if let integer = Int64(exactly: number) {
            self = .integer(integer)
        } else {
            self = .number(number.doubleValue)
        }
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

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(stringLiteral text: String) { self = .string(text) }
    package init(integerLiteral integer: Int64) { self = .integer(integer) }
    package init(booleanLiteral flag: Bool) { self = .flag(flag) }
}
