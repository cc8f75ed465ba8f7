import FuturesGateway
import Glibc
import ServiceLifecycle
import UnixSignals

/// The interface to systemd or a compatible service manager: sd_listen_fds(3) and sd_notify(3), without its library.
enum ServiceManager {
    /// The first inherited listening socket; nil if there is none for this process.
    static func inheritedSocket(_ environment: [String: String], process: Int32 = getpid()) -> Int32? {
        guard environment["LISTEN_PID"] == "\(process)", let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count >= 1 else { return nil }
        return 3
    }

    /// Reports a state, `READY=1` or `STOPPING=1`, to a service manager if there is one.
    static func tell(_ state: String, _ environment: [String: String]) {
        guard let path = environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@") else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A name in the abstract namespace starts with a zero byte (unix(7)).
        let bytes = Array(path.utf8).enumerated().map { $0 == 0 && $1 == UInt8(ascii: "@") ? 0 : $1 }
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (path.hasPrefix("/") ? 1 : 0))
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let words = Array(state.utf8)
        _ = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, words, words.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, length)
            }
        }
    }
}

/// Runs when the program starts to stop: notifies the service manager, and lets a second signal end the program immediately.
struct Stopping: Service, CustomStringConvertible {
    let environment: [String: String]
    /// Hides the environment, which contains secrets, because the service group logs its services.
    var description: String { "Stopping" }

    func run() async throws {
        try? await gracefulShutdown()
        ServiceManager.tell("STOPPING=1", environment)
        // A separate task, because this service must end before the others stop.
        Task.detached {
            for await number in await UnixSignalsSequence(trapping: .sigterm, .sigint) { _exit(number == .sigterm ? 128 + SIGTERM : 128 + SIGINT) }
        }
    }
}
