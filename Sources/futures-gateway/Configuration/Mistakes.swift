import ArgumentParser
import Glibc

/// All mistakes of a configuration; never empty.
struct Mistakes: Error, CustomStringConvertible {
    /// One sentence each: where it is, what was given, what would be accepted.
    let sentences: [String]

    var description: String {
        let head = sentences.count == 1 ? "one mistake" : "\(sentences.count) mistakes"
        return "The configuration has \(head):\n" + sentences.map { "  \($0)" }.joined(separator: "\n")
    }

    /// Prints them on standard error; returns the program's exit code, the same for every command (sysexits.h).
    func report() -> ExitCode {
        Terminal.complain("Error: \(description)")
        return ExitCode(EX_CONFIG)
    }
}
