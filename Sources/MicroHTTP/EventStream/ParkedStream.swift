import CMicroHTTPD
import Glibc
import Synchronization

/// A stream's connection between libmicrohttpd, which sends the head and closes the socket, and the loop, which writes the body to the socket.
///
/// With 0.9.75 this is sound because the content reader is first called when every byte of the head has gone to the kernel, suspending takes the
/// socket out of libmicrohttpd's epoll set, and it closes the socket only after a resume.
final class ParkedStream: Sendable {
    /// How a stream ends.
    enum Ending: UInt8, AtomicRepresentable {
        case orderly
        case cut
    }

    private enum Phase: UInt8, AtomicRepresentable {
        case sendsHead
        case parked
        case ends
        case isCut
    }

    let context: UInt64
    let inFlight: InFlight
    let descriptor: Int32
    let connection: MHDConnection
    private let loop: EventStreamLoop
    private let phase = Atomic<Phase>(.sendsHead)

    init(connection: MHDConnection, loop: EventStreamLoop, context: UInt64, inFlight: InFlight) {
        self.connection = connection
        self.loop = loop
        self.context = context
        self.inFlight = inFlight
        descriptor = connection.descriptor
    }

    /// The content reader, on libmicrohttpd's thread: parks at the first call, ends at the second.
    func read() -> Int {
        switch phase.load(ordering: .acquiring) {
        case .sendsHead: break
        case .parked, .isCut: return cmhd_end_with_error
        case .ends: return cmhd_end_of_stream
        }
        setOption(descriptor, SOL_SOCKET, SO_SNDBUF, 128 * 1024)
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 30_000)
        guard inFlight.park(connection, in: loop) else { return cmhd_end_of_stream }
        // Also pushes out the head, which libmicrohttpd sent with "more to come".
        setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        phase.store(.parked, ordering: .releasing)
        if !loop.adopt(self) { end(.orderly) }
        return 0
    }

    /// By whoever holds the parked connection, once.
    func end(_ ending: Ending) {
        switch ending {
        case .orderly: discardInput()
        case .cut:
            var reset = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
        }
        phase.store(ending == .orderly ? .ends : .isCut, ordering: .releasing)
        inFlight.unpark(connection)
    }

    /// libmicrohttpd is done with the response.
    func released() {
        if phase.load(ordering: .acquiring) == .sendsHead { loop.cancel(context) }
    }

    /// Closing a socket with unread input resets it, and the client would lose the end of the body.
    private func discardInput() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            for _ in 0..<16 {
                guard recv(descriptor, buffer.baseAddress, buffer.count, neverWaiting) > 0 else { return }
            }
        }
    }
}
