import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Why a connection failed or broke, for people: the end of a sentence, without type names and error numbers.
package func plainWords(_ error: any Error) -> String {
    switch error {
    case let error as TransportError: error.message
    case let error as SocketAddressError.UnknownHost: "the host name \(error.host) cannot be resolved"
    case let error as NIOConnectionError:
        if let failure = error.connectionErrors.last {
            "\(error.host) port \(error.port): \(plainWords(failure.error))"
        } else {
            "the host name \(error.host) cannot be resolved"
        }
    case let error as IOError: words(errno: error.errnoCode)
    case ChannelError.connectTimeout: "nothing answers there"
    case is ChannelError, NIOSSLError.uncleanShutdown: "the connection broke"
    case NIOSSLError.handshakeFailed(let reason): words(tls: "\(reason)")
    case NIOSSLError.unableToValidateCertificate, NIOSSLError.noCertificateToValidate: untrusted
    case let error as NIOSSLExtraError where error == .failedToValidateHostname: "its certificate is for another name"
    case let error as BoringSSLError: words(tls: "\(error)")
    case is NIOSSLError, is NIOSSLExtraError: "no TLS session could be made"
    case let error as HTTPClientError: words(http: error)
    default: "the connection failed"
    }
}

/// Whether retrying is useless until certificates are changed.
package func isMistrust(_ error: any Error) -> Bool {
    switch error {
    case NIOSSLError.handshakeFailed(let reason): words(tls: "\(reason)") == untrusted
    case let error as BoringSSLError: words(tls: "\(error)") == untrusted
    case NIOSSLError.unableToValidateCertificate, NIOSSLError.noCertificateToValidate: true
    case let error as NIOSSLExtraError: error == .failedToValidateHostname
    case let error as NIOConnectionError: error.connectionErrors.last.map { isMistrust($0.error) } ?? false
    default: false
    }
}

private let untrusted = "its certificate is signed by nobody that this machine trusts, or out of date"

private func words(tls reason: String) -> String {
    if reason.contains("CERTIFICATE_VERIFY_FAILED") { return untrusted }
    return reason.contains("WRONG_VERSION_NUMBER") ? "it speaks no TLS there" : "no TLS session could be made"
}

private func words(http error: HTTPClientError) -> String {
    switch error {
    case .connectTimeout, .tlsHandshakeTimeout: "nothing answers there"
    case .readTimeout, .deadlineExceeded: "no answer came in time"
    case .remoteConnectionClosed: "the other side closed the connection"
    case .invalidURL, .emptyHost, .emptyScheme: "this is no address"
    default: error.shortDescription
    }
}

private func words(errno: CInt) -> String {
    switch errno {
    case ECONNREFUSED: "nothing listens there"
    case ETIMEDOUT: "nothing answers there"
    case EHOSTUNREACH, ENETUNREACH: "there is no way through the network"
    case ECONNRESET, EPIPE: "the other side broke the connection"
    case EMFILE, ENFILE: "this machine has no file descriptors left"
    default: String(cString: strerror(errno))
    }
}
