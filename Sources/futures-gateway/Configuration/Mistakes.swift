import ArgumentParser
import Glibc

/// All mistakes of a configuration; never empty.
struct Mistakes: Error, CustomStringConvertible {
    /// One sentence each: the place, the given value, and the accepted values.
    let sentences: [String]

    var description: String {
        let head = sentences.count == 1 ? "one mistake" : "\(sentences.count) mistakes"
        return "The configuration has \(head):\n" + sentences.map { "  \($0)" }.joined(separator: "\n")
    }

    /// Prints them to standard error; returns the program's exit code, which is the same for every command (sysexits.h).
    func report() -> ExitCode {
        Terminal.complain("Error: \(description)")
        return ExitCode(EX_CONFIG)
    }
}
