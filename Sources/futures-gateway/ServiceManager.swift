import FuturesGateway
import Glibc
import ServiceLifecycle
import UnixSignals

/// What systemd, or whoever speaks as it does, hands over and is told: sd_listen_fds(3) and sd_notify(3), without its library.
enum ServiceManager {
    /// The first listening socket handed over; nil where there is none for this process.
    static func inheritedSocket(_ environment: [String: String], process: Int32 = getpid()) -> Int32? {
        guard environment["LISTEN_PID"] == "\(process)", let count = environment["LISTEN_FDS"].flatMap({ Int($0) }), count >= 1 else { return nil }
        return 3
    }

    /// Tells a state, `READY=1` or `STOPPING=1`, where somebody wants to know.
    static func tell(_ state: String, _ environment: [String: String]) {
        guard let path = environment["NOTIFY_SOCKET"], path.hasPrefix("/") || path.hasPrefix("@") else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A name in the abstract namespace begins with a zero byte (unix(7)).
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

/// What happens when the program begins to stop: the service manager is told, and a second signal ends the program at once.
struct Stopping: Service, CustomStringConvertible {
    let environment: [String: String]
    /// The service group logs its services, and the environment holds secrets.
    var description: String { "Stopping" }

    func run() async throws {
        try? await gracefulShutdown()
        ServiceManager.tell("STOPPING=1", environment)
        // Beside the service, which has to end for the others to stop.
        Task.detached {
            for await number in await UnixSignalsSequence(trapping: .sigterm, .sigint) { _exit(number == .sigterm ? 128 + SIGTERM : 128 + SIGINT) }
        }
    }
}
