/// A caller whose credential was accepted.
public struct Principal: Sendable, Equatable {
    /// The kind of credential.
    enum Origin: Sendable, Equatable {
        case anonymous
        /// The key with this digest.
        case key([UInt8])
        /// A token signed by the key with this fingerprint.
        case token([UInt8])
    }

    /// An identity that distinguishes callers, so that each can control only its own connections; nil for the anonymous caller. It contains no
    /// secret.
    public let identity: String?
    /// The caller's permission.
    public let permission: Permission
    let origin: Origin

    /// The caller without a credential.
    public static func anonymous(_ permission: Permission) -> Principal { Principal(identity: nil, permission: permission, origin: .anonymous) }

    init(identity: String?, permission: Permission, origin: Origin) {
        self.identity = identity
        self.permission = permission
        self.origin = origin
    }
}
