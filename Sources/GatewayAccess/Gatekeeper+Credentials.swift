import Crypto
import Synchronization

/// Keys, tokens and tickets, and the principals that they prove.
extension Gatekeeper {
    /// The principal of a key or a token. Without a credential, the anonymous principal if that is allowed, otherwise nil.
    ///
    /// - Throws: `invalidCredential` or `expired`.
    public func principal(showing credential: String?, at now: ClockReading) throws(AccessError) -> Principal? {
        guard let credential else { return state.withLock { $0.rules.anonymous.map(Principal.anonymous) } }
        let unknown = AccessError(.invalidCredential, "The credential is unknown.")
        let (rules, digest) = (rules, SHA256.hash(data: Array(credential.utf8)))
        let isKey = (APIKeys.minimumLength...APIKeys.maximumLength).contains(credential.utf8.count)
        if isKey, let key = rules.keys?.key(withDigest: Array(digest)) {
            guard !key.permission.isExpired(at: now.seconds) else { throw AccessError(.expired, "The key has expired; get a new one.") }
            return Principal(identity: "key \(key.name)", permission: key.permission, origin: .key(Array(digest)))
        }
        guard let tokens = rules.tokens else { throw unknown }
        if let known = state.withLock({ $0.verified[digest] }), !known.permission.isExpired(at: now.seconds) { return known }
        guard credential.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2 else { throw unknown }
        let (permission, identity, key) = try tokens.judge(credential, now: now.seconds)
        let principal = Principal(identity: "token \(identity)", permission: permission, origin: .token(key))
        remember(principal, digest, now)
        return principal
    }

    /// Remembers a token only if the key that signed it is still accepted, because the rules may have been replaced in the meantime.
    private func remember(_ principal: Principal, _ digest: SHA256Digest, _ now: ClockReading) {
        state.withLock { state in
            guard case .token(let key) = principal.origin, state.rules.tokens?.keys.has(key) == true else { return }
            if state.verified.count >= Self.maximumVerified {
                state.verified = state.verified.filter { !$0.value.permission.isExpired(at: now.seconds) }
            }
            if state.verified.count >= Self.maximumVerified { state.verified = [:] }
            state.verified[digest] = principal
        }
    }

    /// Judges a principal by the current rules: its current permission, or why it is not accepted any more.
    public func standing(of principal: Principal, at now: ClockReading) -> Standing {
        let rules = rules
        let permission: Permission?
        var identity = principal.identity
        switch principal.origin {
        case .anonymous: permission = rules.anonymous
        case .key(let digest):
            let key = rules.keys?.key(withDigest: digest)
            permission = key?.permission
            identity = key.map { "key \($0.name)" }
        case .token(let key): permission = rules.tokens?.keys.has(key) == true ? principal.permission : nil
        }
        guard let permission else { return .revoked }
        guard !permission.isExpired(at: now.seconds) else { return .expired }
        return .good(Principal(identity: identity, permission: permission, origin: principal.origin))
    }

    /// The result of judging a principal.
    public enum Standing: Sendable, Equatable {
        /// It is accepted and has this permission.
        case good(Principal)
        /// Its credential has expired.
        case expired
        /// Its credential is not accepted any more.
        case revoked
    }

    /// A ticket that can be used once, within a minute, in place of the principal's credential.
    ///
    /// - Throws: `tooManyTickets`.
    public func ticket(for principal: Principal, at now: ClockReading) throws(AccessError) -> String {
        guard let ticket = state.withLock({ $0.tickets.issue(to: principal, now: now.nanoseconds) }) else {
            throw AccessError(.tooManyTickets, "Too many tickets are unused; use them, or wait a minute until they expire.")
        }
        return ticket
    }

    /// The principal of a ticket, judged by the current rules.
    ///
    /// - Throws: `invalidCredential`, also for a ticket that was used before or is too old, or `expired`.
    public func redeem(ticket: String, at now: ClockReading) throws(AccessError) -> Principal {
        try accept(state.withLock { $0.tickets.redeem(ticket, now: now.nanoseconds) }, at: now)
    }

    /// A ticket's principal, judged by the current rules.
    ///
    /// - Parameter principal: The ticket's principal, which another gateway may have issued; nil if the ticket is invalid.
    /// - Throws: `invalidCredential` or `expired`.
    public func accept(_ principal: Principal?, at now: ClockReading) throws(AccessError) -> Principal {
        let invalid = AccessError(.invalidCredential, "The ticket is unknown, was used, or is older than a minute; get a new one.")
        guard let principal else { throw invalid }
        switch standing(of: principal, at: now) {
        case .good(let principal): return principal
        case .expired: throw AccessError(.expired, "The credential that created the ticket has expired.")
        case .revoked: throw invalid
        }
    }
}
