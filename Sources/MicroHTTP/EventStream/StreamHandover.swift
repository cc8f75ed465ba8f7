import CMicroHTTPD
import Glibc
import Synchronization

/// A socket that has left libmicrohttpd with its head sent, and belongs to a loop from now on.
struct DetachedStream: Sendable {
    let descriptor: Int32
    let context: UInt64
    let owner: HTTPServer
}

/// Takes a stream's socket from libmicrohttpd, which sends the head, to the loop, which writes the body.
///
/// With 0.9.75 the content reader is first called when every byte of the head has gone to the kernel. It duplicates the descriptor and ends the
/// response at once: libmicrohttpd frees the connection's memory and closes its own descriptor, and, in turbo mode, does not shut the socket down.
/// So a stream costs no connection of libmicrohttpd's, no memory pool and no suspension, which would hide its client's leaving and abort a stop.
final class StreamHandover: Sendable {
    let connection: MHDConnection
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

    /// The content reader, on libmicrohttpd's thread.
    func read() -> Int {
        guard !isDecided.exchange(true, ordering: .relaxed) else { return cmhd_end_of_stream }
        cmhd_release_soon(connection.pointer)
        let copy = fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            loop.cancel(context)
            return cmhd_end_with_error
        }
        setOption(copy, SOL_SOCKET, SO_SNDBUF, 128 * 1024)
        setOption(copy, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 30_000)
        setOption(copy, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        guard server.streamBegan(on: connection, in: loop) else {
            loop.cancel(context)
            endSocket(copy, .orderly)
            return cmhd_end_of_stream
        }
        if !loop.adopt(DetachedStream(descriptor: copy, context: context, owner: server)) {
            server.streamEnded()
            endSocket(copy, .orderly)
        }
        return cmhd_end_of_stream
    }

    /// libmicrohttpd is done with the response.
    func released() {
        if !isDecided.load(ordering: .relaxed) { loop.cancel(context) }
    }
}

/// How a stream ends.
enum StreamEnding {
    case orderly
    /// With a reset, which also frees what the kernel still holds for the client.
    case cut
}

func endSocket(_ descriptor: Int32, _ ending: StreamEnding) {
    switch ending {
    case .orderly:
        // Closing a socket with unread input resets it, and the client would lose the end of the body.
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            for _ in 0..<16 {
                guard recv(descriptor, buffer.baseAddress, buffer.count, neverWaiting) > 0 else { return }
            }
        }
        shutdown(descriptor, Int32(SHUT_WR))
    case .cut:
        var reset = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
    }
    close(descriptor)
}
