import ArgumentParser
import Glibc

/// An option's value: the flag where it is given, else the environment, else nothing.
///
/// Every option `--some-name` is also `FUTURES_GATEWAY_SOME_NAME`. Throws where the environment's value cannot be read, naming it.
func setting<Value: ExpressibleByArgument>(_ flag: Value?, _ option: String) throws -> Value? {
    if let flag { return flag }
    let variable = "FUTURES_GATEWAY_" + option.uppercased().replacing("-", with: "_")
    guard let pointer = getenv(variable) else { return nil }
    let text = String(cString: pointer)
    guard !text.isEmpty else { return nil }
    guard let value = Value(argument: text) else {
        let allowed = Value.allValueStrings
        let rule = allowed.isEmpty ? "It takes a \(Value.self)." : "It takes one of \(allowed.joined(separator: ", "))."
        throw ValidationError("\(variable) is \"\(text)\", which cannot be read. \(rule)")
    }
    return value
}

/// The value of an option that takes whole numbers, as `setting`; what is out of range is refused.
func number(_ flag: Int?, _ option: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let number = try setting(flag, option) else { return nil }
    guard range.contains(number) else { throw ValidationError("--\(option) is \(number); it takes \(range.lowerBound) to \(range.upperBound).") }
    return number
}
