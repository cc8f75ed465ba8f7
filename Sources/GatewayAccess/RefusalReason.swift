/// Why a request was refused, for counting.
public enum RefusalReason: Hashable, Sendable, CaseIterable {
    /// No credential, or one that is not accepted.
    case credential
    /// A credential that has expired or is not accepted any more.
    case expired
    /// The credential does not permit this stream or operation.
    case forbidden
    /// A page of another site tried to change state.
    case origin
    /// Too many tickets were valid.
    case tickets
    /// A limit was reached.
    case limit(LimitReached.Holder, LimitReached.Kind)

    /// Every reason.
    public static let allCases: [RefusalReason] =
        [.credential, .expired, .forbidden, .origin, .tickets]
        + LimitReached.Holder.allCases.flatMap { holder in LimitReached.Kind.allCases.map { .limit(holder, $0) } }

    /// The label for metrics; for a limit the setting's name, such as `address-requests`.
    public var label: String {
        switch self {
        case .credential: "credential"
        case .expired: "expired"
        case .forbidden: "forbidden"
        case .origin: "origin"
        case .tickets: "tickets"
        case .limit(let holder, let kind): "\(holder.rawValue)-\(kind.rawValue)"
        }
    }
}
