import NIOCore
import NIOSSL

/// The files that an exchange needs to serve TLS.
public struct TLSFiles: Sendable {
    /// Path of a PEM file with the certificate chain.
    public var certificate: String
    /// Path of a PEM file with the certificate's private key.
    public var key: String

    /// Names the files; the exchange reads them when it starts.
    public init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    func context() throws(DemoExchangeError) -> NIOSSLContext {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate).map { NIOSSLCertificateSource.certificate($0) }
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain, privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
            configuration.applicationProtocols = ["http/1.1"]
            configuration.shutdownTimeout = .seconds(1)
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw DemoExchangeError(
                .certificate, "TLS cannot be served with \(certificate) and \(key) (\(error)); give a PEM certificate and its key")
        }
    }
}
