import ArgumentParser
import Glibc

/// Everything that is wrong with a configuration; never empty.
struct Mistakes: Error, CustomStringConvertible {
    /// A sentence each: where it stands, what was given, what it takes.
    let sentences: [String]

    var description: String {
        let head = sentences.count == 1 ? "one mistake" : "\(sentences.count) mistakes"
        return "The configuration has \(head):\n" + sentences.map { "  \($0)" }.joined(separator: "\n")
    }

    /// Says them on standard error; what the program ends with then, whichever command it was (sysexits.h).
    func told() -> ExitCode {
        Terminal.complain("Error: \(description)")
        return ExitCode(EX_CONFIG)
    }
}
