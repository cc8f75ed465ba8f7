import ArgumentParser
import GatewayAccess
import Glibc

/// `futures-gateway hash-key`
struct HashKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hash-key", abstract: "Print the hash of an API key for the setting keys.",
        discussion:
            "Reads the key from standard input, so that it does not appear in process lists or the shell history. With --new, creates a key and prints both."
    )

    @Flag(name: .long, help: "Create a new key of 256 random bits.")
    var new = false

    func run() throws {
        guard !new else {
            let key = APIKeys.random()
            return announce("key: \(key)\nhash: \(APIKeys.hash(of: key))")
        }
        if isatty(STDIN_FILENO) == 1 { Terminal.complain("Enter the key, then Return:") }
        let key = readLine() ?? ""
        guard (APIKeys.minimumLength...APIKeys.maximumLength).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            Terminal.complain(
                "Error: A key must have \(APIKeys.minimumLength) to \(APIKeys.maximumLength) printable characters without spaces; --new creates a good one."
            )
            throw ExitCode(EX_DATAERR)
        }
        announce(APIKeys.hash(of: key))
    }
}
