import CMicroHTTPD
import Glibc
import Synchronization

/// A stream whose head has been sent, and whose body a loop writes from now on.
struct DetachedStream: Sendable {
    let channel: StreamChannel
    let context: UInt64
    /// Whether the client sends data, and what of it libmicrohttpd has read already.
    let isSocket: Bool
    let early: [UInt8]
    let owner: HTTPServer

    /// Ends a stream that no loop has taken over.
    func end() {
        channel.end(.orderly)
        owner.streamEnded()
    }
}

/// Moves a stream's socket from libmicrohttpd, which sends the head, to the loop, which writes the body.
///
/// libmicrohttpd 0.9.75 first calls the content reader when the kernel has accepted every byte of the head. The reader duplicates the descriptor and
/// ends the response immediately. libmicrohttpd then frees the connection's memory and closes its own descriptor, and, in turbo mode, does not shut
/// the socket down. So a stream uses no libmicrohttpd connection, no memory pool and no suspension. A suspension would hide that its client leaves,
/// and would abort a stop.
///
/// libmicrohttpd itself hands over the connection of a WebSocket, with the bytes that the client has already sent, and frees it immediately.
///
/// With TLS the reader also takes over the keys (`RecordSealer`). The session that libmicrohttpd still has sends its end nowhere.
final class StreamHandover: Sendable {
    private let connection: MHDConnection
    private let loop: EventStreamLoop
    private let context: UInt64
    private let server: HTTPServer
    private let isSocket: Bool
    private let isDecided = Atomic<Bool>(false)

    init(connection: MHDConnection, loop: EventStreamLoop, context: UInt64, server: HTTPServer, isSocket: Bool = false) {
        self.isSocket = isSocket
        self.connection = connection
        self.loop = loop
        self.context = context
        self.server = server
    }

    /// The kernel has accepted the head. Returns the end of the response.
    ///
    /// - Parameter early: The bytes that the client has sent after its request.
    func headIsSent(early: [UInt8] = []) -> Int {
        guard !isDecided.exchange(true, ordering: .relaxed) else { return cmhd_end_of_stream }
        if !isSocket { cmhd_release_soon(connection.pointer) }
        let copy = fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            loop.cancel(context)
            return cmhd_end_with_error
        }
        let session = cmhd_session(connection.pointer)
        let sealer = session.flatMap { RecordSealer($0) }
        if isSocket { sealer?.opener = session.flatMap { RecordOpener($0) } }
        guard session == nil || sealer != nil && (!isSocket || sealer?.opener != nil) else {
            close(copy)
            loop.cancel(context)
            return cmhd_end_with_error
        }
        prepareSocket(copy)
        let channel = StreamChannel(descriptor: copy, sealer: sealer)
        guard let slot = connection.slot, server.inFlight.streamBegan(in: loop) else {
            loop.cancel(context)
            channel.end(.orderly)
            return cmhd_end_of_stream
        }
        server.connections.handedOver(slot)
        let stream = DetachedStream(channel: channel, context: context, isSocket: isSocket, early: early, owner: server)
        if !loop.adopt(stream) { stream.end() }
        return cmhd_end_of_stream
    }

    /// libmicrohttpd has finished the response.
    func released() {
        if !isDecided.load(ordering: .relaxed) { loop.cancel(context) }
    }
}
