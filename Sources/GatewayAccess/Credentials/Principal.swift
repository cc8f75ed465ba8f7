/// Somebody whose credential was accepted.
public struct Principal: Sendable, Equatable {
    /// What a credential was.
    enum Origin: Sendable, Equatable {
        case anonymous
        /// The key with this digest.
        case key([UInt8])
        /// A token signed by the key with this fingerprint.
        case token([UInt8])
    }

    /// Who it is, to tell one from another; nil for whoever shows nothing. It is no secret and holds none.
    public let identity: String?
    /// What it may do.
    public let permission: Permission
    let origin: Origin

    /// Whoever needs to show nothing.
    public static func anonymous(_ permission: Permission) -> Principal { Principal(identity: nil, permission: permission, origin: .anonymous) }

    init(identity: String?, permission: Permission, origin: Origin) {
        self.identity = identity
        self.permission = permission
        self.origin = origin
    }

    /// Whether it is the one who opened what the other wants to control.
    public func isSame(as other: Principal) -> Bool { identity == other.identity }
}
