/// Why somebody was turned away, for counting.
public enum RefusalReason: Hashable, Sendable, CaseIterable {
    /// Nothing was shown, or something that is not accepted.
    case credential
    /// What was shown is not accepted any more.
    case expired
    /// The credential is not for this stream or operation.
    case forbidden
    /// A page of another site wanted to change something.
    case origin
    /// Too many tickets were out.
    case tickets
    /// A limit was reached.
    case limit(LimitReached.Holder, LimitReached.Kind)

    /// Every reason there is.
    public static let allCases: [RefusalReason] =
        [.credential, .expired, .forbidden, .origin, .tickets]
        + LimitReached.Holder.allCases.flatMap { holder in LimitReached.Kind.allCases.map { .limit(holder, $0) } }

    /// A word for it; of a limit the setting's name, as in `address-requests`.
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
