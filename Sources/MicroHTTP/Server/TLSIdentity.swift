import CMicroHTTPD
import Synchronization

/// A certificate chain with its private key, by which a server answers over TLS 1.2 and 1.3.
public struct TLSIdentity: Sendable {
    /// PEM text: the server's certificate, then those that lead to a root, up to 16.
    public var certificateChain: [UInt8]
    /// PEM text of the first certificate's key, not encrypted.
    public var privateKey: [UInt8]

    /// An identity from PEM text, which is read when a server starts with it.
    public init(certificateChain: [UInt8], privateKey: [UInt8]) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }
}

/// The identity a server shows in handshakes, which may change while it runs.
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
        var reason: UnsafePointer<CChar>?
        let made = identity.certificateChain.withUnsafeBytes { chain in
            identity.privateKey.withUnsafeBytes { key in cmhd_identity_new(chain.baseAddress, chain.count, key.baseAddress, key.count, &reason) }
        }
        guard let made else {
            let culprit = reason.map { String(cString: $0) } ?? "the certificate"
            throw HTTPServerError(.invalidCertificate, "TLS cannot use \(culprit). Give a certificate chain and its key as PEM, unencrypted.")
        }
        turn.withLock { _ in cmhd_identity_show(slot, made) }
    }
}
