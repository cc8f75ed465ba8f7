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
    case ChannelError.connectTimeout: "the server does not answer"
    case is ChannelError, NIOSSLError.uncleanShutdown: "the connection broke"
    case NIOSSLError.handshakeFailed(let reason): words(tls: "\(reason)")
    case NIOSSLError.unableToValidateCertificate, NIOSSLError.noCertificateToValidate: untrusted
    case let error as NIOSSLExtraError where error == .failedToValidateHostname: "its certificate is for another name"
    case let error as BoringSSLError: words(tls: "\(error)")
    case is NIOSSLError, is NIOSSLExtraError: "the TLS handshake failed"
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

private let untrusted = "its certificate has expired or is not signed by an authority that this machine trusts"

private func words(tls reason: String) -> String {
    if reason.contains("CERTIFICATE_VERIFY_FAILED") { return untrusted }
    return reason.contains("WRONG_VERSION_NUMBER") ? "the server does not speak TLS on this port" : "the TLS handshake failed"
}

private func words(http error: HTTPClientError) -> String {
    switch error {
    case .connectTimeout, .tlsHandshakeTimeout: "the server does not answer"
    case .readTimeout, .deadlineExceeded: "the server did not answer in time"
    case .remoteConnectionClosed: "the server closed the connection"
    case .invalidURL, .emptyHost, .emptyScheme: "the address is malformed"
    default: error.shortDescription
    }
}

private func words(errno: CInt) -> String {
    switch errno {
    case ECONNREFUSED: "no process listens on this port"
    case ETIMEDOUT: "the server does not answer"
    case EHOSTUNREACH, ENETUNREACH: "the network has no route to it"
    case ECONNRESET, EPIPE: "the server reset the connection"
    case EMFILE, ENFILE: "this machine has no file descriptors left"
    default: String(cString: strerror(errno))
    }
}
