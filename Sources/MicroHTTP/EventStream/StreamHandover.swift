import CMicroHTTPD
import Glibc
import Synchronization

/// A stream whose head has been sent, and whose body a loop writes from now on.
struct DetachedStream: Sendable {
    let channel: StreamChannel
    let context: UInt64
    let owner: HTTPServer
}

/// Moves a stream's socket from libmicrohttpd, which sends the head, to the loop, which writes the body.
///
/// libmicrohttpd 0.9.75 first calls the content reader when the kernel has every byte of the head. The reader duplicates the descriptor and ends the
/// response at once: libmicrohttpd frees the connection's memory and closes its own descriptor, and, in turbo mode, does not shut the socket down. So
/// a stream takes no connection of libmicrohttpd, no memory pool and no suspension, which would hide that its client leaves and abort a stop.
final class StreamHandover: StreamBody {
    private let connection: MHDConnection
    private let loop: EventStreamLoop
    private let context: UInt64
    private let server: HTTPServer
    private let isDecided = Atomic<Bool>(false)

    init(connection: MHDConnection, loop: EventStreamLoop, context: UInt64, server: HTTPServer) {
        self.connection = connection
        self.loop = loop
        self.context = context
        self.server = server
    }

    func read(into _: UnsafeMutableRawBufferPointer) -> Int {
        guard !isDecided.exchange(true, ordering: .relaxed) else { return cmhd_end_of_stream }
        cmhd_release_soon(connection.pointer)
        let copy = fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            loop.cancel(context)
            return cmhd_end_with_error
        }
        prepareSocket(copy)
        guard let slot = connection.slot, server.inFlight.streamBegan(in: loop) else {
            loop.cancel(context)
            endSocket(copy, .orderly)
            return cmhd_end_of_stream
        }
        server.connections.handedOver(slot)
        if !loop.adopt(DetachedStream(channel: .socket(copy), context: context, owner: server)) {
            server.streamEnded()
            endSocket(copy, .orderly)
        }
        return cmhd_end_of_stream
    }

    func released() {
        if !isDecided.load(ordering: .relaxed) { loop.cancel(context) }
    }
}
