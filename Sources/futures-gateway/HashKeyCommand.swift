import ArgumentParser
import GatewayAccess
import Glibc

/// `futures-gateway hash-key`
struct HashKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hash-key", abstract: "Print the hash of an API key, as the keys in the configuration take it.",
        discussion: "Reads the key from standard input, so that it is in no list of processes and no history; with --new makes one and prints both.")

    @Flag(name: .long, help: "Make a new key of 256 random bits.")
    var new = false

    func run() throws {
        guard !new else {
            let key = APIKeys.random()
            return announce("key: \(key)\nhash: \(APIKeys.hash(of: key))")
        }
        if isatty(STDIN_FILENO) == 1 { Terminal.complain("The key, then Return:") }
        let key = readLine() ?? ""
        guard (APIKeys.minimumLength...APIKeys.maximumLength).contains(key.utf8.count), key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            Terminal.complain(
                "Error: A key has \(APIKeys.minimumLength) to \(APIKeys.maximumLength) printable characters without blanks; --new makes a good one.")
            throw ExitCode(EX_DATAERR)
        }
        announce(APIKeys.hash(of: key))
    }
}
