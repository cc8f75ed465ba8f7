import CMicroHTTPD
import Synchronization

/// A certificate chain with its private key, for a server over TLS 1.2 and 1.3.
public struct TLSIdentity: Sendable, Equatable, CustomStringConvertible {
    /// PEM text: the server's certificate, then the certificates up to a root, at most 16.
    public let certificateChain: [UInt8]
    /// PEM text of the first certificate's key, unencrypted.
    public let privateKey: [UInt8]
    /// The description, without the key.
    public var description: String { "a certificate and its key" }

    /// Creates an identity from PEM text.
    ///
    /// - Throws: `invalidCertificate` if they cannot be read or do not belong together.
    public init(certificateChain: [UInt8], privateKey: [UInt8]) throws(HTTPServerError) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
        cmhd_identity_free(try made())
    }

    /// The credentials for handshakes; the caller frees them.
    fileprivate func made() throws(HTTPServerError) -> UnsafeMutablePointer<cmhd_identity> {
        var culprit: UnsafePointer<CChar>?
        let made = certificateChain.withUnsafeBytes { chain in
            privateKey.withUnsafeBytes { key in cmhd_identity_new(chain.baseAddress, chain.count, key.baseAddress, key.count, &culprit) }
        }
        if let made { return made }
        let text = culprit.map { String(cString: $0) } ?? "the certificate"
        throw HTTPServerError(.invalidCertificate, "TLS cannot use \(text). Give a certificate chain and its key as PEM, unencrypted.")
    }
}

/// The identity that a server uses in handshakes, which may change while it runs.
final class ShownIdentity: Sendable {
    nonisolated(unsafe) let slot = UnsafeMutablePointer<cmhd_identity_slot>.allocate(capacity: 1)
    private let turn = Mutex(())

    init() {
        slot.initialize(to: cmhd_identity_slot())
    }

    deinit {
        cmhd_identity_free(slot.pointee.current?.assumingMemoryBound(to: cmhd_identity.self))
        slot.deallocate()
    }

    func show(_ identity: TLSIdentity) throws(HTTPServerError) {
        let made = try identity.made()
        turn.withLock { _ in cmhd_identity_show(slot, made) }
    }
}
