import CMicroHTTPD
import Glibc
import Synchronization

/// A stream whose head is sent, and whose body belongs to a loop from now on.
struct DetachedStream: Sendable {
    let channel: StreamChannel
    let context: UInt64
    let owner: HTTPServer
}

/// Takes a stream's socket from libmicrohttpd, which sends the head, to the loop, which writes the body.
///
/// With 0.9.75 the content reader is first called when every byte of the head has gone to the kernel. It duplicates the descriptor and ends the
/// response at once: libmicrohttpd frees the connection's memory and closes its own descriptor, and, in turbo mode, does not shut the socket down.
/// So a stream costs no connection of libmicrohttpd's, no memory pool and no suspension, which would hide its client's leaving and abort a stop.
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
