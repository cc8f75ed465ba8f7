import CMicroHTTPD
import Glibc

/// The way of a stream's bytes to its client: our own socket, and the encryption if the connection uses TLS.
struct StreamChannel: Sendable {
    let descriptor: Int32
    let sealer: RecordSealer?

    /// Ends a stream that no loop has taken over.
    func end(_ ending: StreamEnding) {
        if ending == .orderly { _ = sealer?.close(descriptor) }
        endSocket(descriptor, ending)
    }
}

/// How a stream ends.
enum StreamEnding {
    case orderly
    /// With a reset, which also frees the kernel's buffers for the client.
    case cut
}

/// Prepares a stream's socket: the kernel buffers little for a client that does not read.
///
/// It has no `TCP_USER_TIMEOUT`: with it, the kernel would also reset a client that reads steadily through a receive buffer smaller than one of our
/// segments.
func prepareSocket(_ descriptor: Int32) {
    setOption(descriptor, SOL_SOCKET, SO_SNDBUF, 128 * 1024)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_CORK, 0)
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
}

/// Whether data was retransmitted and the client has acknowledged nothing for this many milliseconds.
func isUnanswered(_ descriptor: Int32, for milliseconds: Int64) -> Bool {
    var info = tcp_info()
    var size = socklen_t(MemoryLayout<tcp_info>.size)
    guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return false }
    return (info.tcpi_retransmits > 0 || info.tcpi_probes > 0) && Int64(info.tcpi_last_ack_recv) >= milliseconds
}

/// Makes the kernel drop data that the client does not accept within a minute.
func expireUnsent(_ descriptor: Int32) {
    setOption(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 60_000)
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
        expireUnsent(descriptor)
        shutdown(descriptor, Int32(SHUT_WR))
    case .cut:
        resetOnClose(descriptor)
    }
    close(descriptor)
}

func resetOnClose(_ descriptor: Int32) {
    var reset = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
}
