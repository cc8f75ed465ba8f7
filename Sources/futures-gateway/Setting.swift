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

/// The text of a file that an option names; throws where it cannot be read.
func text(ofFile path: String, for option: String) throws -> String {
    guard let file = fopen(path, "r") else { throw ValidationError("--\(option): \(path) cannot be read; check the path and the rights.") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < 1 << 24 {
        let count = fread(&chunk, 1, chunk.count, file)
        guard count > 0 else { break }
        bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// A secret that a configuration file asks for: a variable of the environment, or, as `file:PATH`, the first line of a file.
func secret(_ name: String) -> String? {
    guard name.hasPrefix("file:") else { return getenv(name).map { String(cString: $0) } }
    return (try? text(ofFile: String(name.dropFirst(5)), for: "upstreams"))?.split(separator: "\n").first.map(String.init)
}
