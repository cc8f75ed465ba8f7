import NIOCore
import NIOSSL

/// The certificate authorities to trust. Host name and chain are always fully verified; no setting turns that off.
package enum TLSTrust: Sendable {
    /// The certificate authorities of the operating system.
    case system
    /// Only these certificate authorities, as PEM text: for a private authority.
    case roots(pem: String)

    /// - Throws: `TransportError` with code `tlsFailed` if the PEM text contains no certificate.
    func configuration() throws(TransportError) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        configuration.shutdownTimeout = .seconds(2)
        if case .roots(let pem) = self {
            do {
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)))
            } catch {
                throw TransportError(.tlsFailed, "Cannot read the trusted certificates: give PEM text with at least one certificate.")
            }
        }
        return configuration
    }

    func context() throws(TransportError) -> NIOSSLContext {
        switch self {
        case .system: try Self.systemContext.get()
        case .roots: try Self.makeContext(configuration())
        }
    }

    private static let systemContext = Result { () throws(TransportError) in try makeContext(TLSTrust.system.configuration()) }

    private static func makeContext(_ configuration: TLSConfiguration) throws(TransportError) -> NIOSSLContext {
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw TransportError(.tlsFailed, "Cannot set up TLS: install the system's CA certificates.")
        }
    }
}
