/// Tickets for URLs, for clients that cannot set a header. Each can be used once, within a short time, in place of the credential with which it was
/// created.
struct Tickets {
    private struct Ticket {
        let principal: Principal
        let until: Int64
    }

    private var tickets: [String: Ticket] = [:]
    private var counts: [String: Int] = [:]

    /// A new ticket of 128 random bits; nil if too many are valid.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    mutating func issue(to principal: Principal, now: Int64) -> String? {
        if tickets.count >= Self.maximum || counts[principal.identity ?? "", default: 0] >= Self.maximumEach { removeOld(now) }
        guard tickets.count < Self.maximum, counts[principal.identity ?? "", default: 0] < Self.maximumEach else { return nil }
        var random = SystemRandomNumberGenerator()
        let ticket = Base64URL.encode((0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        tickets[ticket] = Ticket(principal: principal, until: now &+ Self.lifetime)
        counts[principal.identity ?? "", default: 0] += 1
        return ticket
    }

    /// The ticket's principal. The ticket is used up.
    mutating func redeem(_ text: String, now: Int64) -> Principal? {
        guard let ticket = tickets.removeValue(forKey: text) else { return nil }
        forget(ticket)
        return ticket.until > now ? ticket.principal : nil
    }

    private mutating func removeOld(_ now: Int64) {
        for (text, ticket) in tickets where ticket.until <= now {
            tickets[text] = nil
            forget(ticket)
        }
    }

    private mutating func forget(_ ticket: Ticket) {
        let name = ticket.principal.identity ?? ""
        let left = counts[name, default: 0] - 1
        counts[name] = left > 0 ? left : nil
    }
}
