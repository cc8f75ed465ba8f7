import Foundation
import GatewayTestSupport
import Glibc
import NIOCore
import NIOPosix

/// The built executable, running. Ended with the last reference to it.
final class Program: Sendable {
    /// The end of what a program prints.
    private struct End: Error {}

    private let identifier: pid_t
    private let output = Mailbox<String>()
    private let errors = Mailbox<String>()
    private let status = Mailbox<Int32>()

    /// The executable beside the test bundle.
    private static let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "futures-gateway").path(percentEncoded: false)

    convenience init(_ arguments: String..., environment: [String: String] = [:]) async throws {
        try await self.init(arguments, environment: environment)
    }

    /// - Parameter socket: handed over as systemd does.
    init(_ arguments: [String], environment: [String: String] = [:], socket: Int32? = nil) async throws {
        let (outputEnds, errorEnds) = (try Self.pipe(), try Self.pipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, outputEnds.write, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errorEnds.write, STDERR_FILENO)
        // Or the program would hold open the sockets of tests that run at the same time. Closing what is not open does no harm.
        if let socket { posix_spawn_file_actions_adddup2(&actions, socket, 3) }
        for descriptor: Int32 in (socket == nil ? 3 : 4)..<8192 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        // Who hands a socket over names the process that it is for, which a shell knows of itself.
        let shell = ["/bin/sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\""]
        let words = (socket == nil ? [] : shell) + [Self.executable] + arguments
        var argumentPointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var variablePointers: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") } + [nil]
        var spawned: pid_t = 0
        let failure = posix_spawn(&spawned, words[0], &actions, nil, &argumentPointers, &variablePointers)
        for pointer in argumentPointers + variablePointers { free(pointer) }
        posix_spawn_file_actions_destroy(&actions)
        close(outputEnds.write)
        close(errorEnds.write)
        let identifier = spawned
        self.identifier = identifier
        guard failure == 0 else { throw Unexpected("\(Self.executable) does not start: \(String(cString: strerror(failure)))") }
        try await Self.read(outputEnds.read, into: output)
        try await Self.read(errorEnds.read, into: errors)
        let status = status
        Thread.detachNewThread {
            var code: Int32 = 0
            while waitpid(identifier, &code, 0) < 0, errno == EINTR {}
            let signal = code & 0x7F
            status.post(signal == 0 ? (code >> 8) & 0xFF : -signal)
        }
    }

    deinit { kill(identifier, SIGKILL) }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw Unexpected("no pipe: \(String(cString: strerror(errno)))") }
        return (ends[0], ends[1])
    }

    private static func read(_ descriptor: Int32, into lines: Mailbox<String>) async throws {
        _ = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(LineReader(lines)) }
            }
            .takingOwnershipOfDescriptor(input: descriptor).get()
    }

    private final class LineReader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let lines: Mailbox<String>
        private var rest = ByteBuffer()

        init(_ lines: Mailbox<String>) { self.lines = lines }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            rest.writeImmutableBuffer(Self.unwrapInboundIn(data))
            while let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                lines.post(rest.readString(length: end - rest.readerIndex) ?? "")
                rest.moveReaderIndex(forwardBy: 1)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { lines.end(End()) }
    }

    /// The next line on standard output.
    func line() async throws -> String {
        do {
            return try await output.next("a line of output")
        } catch is End {
            throw Unexpected("the program printed nothing more; its errors: \(try await errorsToEnd())")
        }
    }

    /// The gateway at the address the program prints when it serves.
    func client() async throws -> GatewayClient {
        let line = try await line()
        guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else { throw Unexpected("no address in: \(line)") }
        return GatewayClient(port: port)
    }

    func send(_ signal: Int32) { kill(identifier, signal) }

    /// Waits for the program's end: its exit status, or the signal that ended it below zero.
    func exitStatus() async throws -> Int32 {
        try await status.next("the program's end")
    }

    /// The next line on standard error that contains this.
    func error(containing text: String) async throws -> String {
        while true {
            let line = try await errors.next("\(text) on standard error")
            if line.contains(text) { return line }
        }
    }

    /// All it wrote to standard error until it ended.
    func errorsToEnd() async throws -> String {
        var text = ""
        do {
            while true { text += try await errors.next("the end of standard error") + "\n" }
        } catch is End {
            return text
        }
    }

    /// Processor time used so far, of all threads.
    func processorTime() throws -> Duration {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        // The second field, the name in brackets, is the only one with blanks; user and system time are fields 14 and 15 (proc(5)).
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Int(fields[12]), let system = Int(fields[13]) else { throw Unexpected("no times in \(text)") }
        return .milliseconds((user + system) * 1000 / sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Memory in use, bytes.
    func residentBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)
        guard let kilobytes = text.firstMatch(of: /VmRSS:\s+(\d+) kB/).flatMap({ Int($0.1) }) else { throw Unexpected("no memory in \(text)") }
        return kilobytes * 1024
    }
}
