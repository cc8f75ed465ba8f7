/// The state of one upstream, which all its streams use. Upstreams share none of it, so a ban, a wrong clock or a short listing of one does not affect
/// the others.
struct UpstreamState: Sendable {
    /// The request budget.
    var rest: RESTGate
    /// Requests of readers for the venue's REST.
    var relays = RelayQueue()
    /// The venue's time, derived from its data.
    var clock = VenueClock()
    /// The venue's listing; nil until it arrives.
    var listing: VenueListing?
    /// Symbols that the last listing lacked.
    var missing: Set<String> = []
    /// Symbols that two listings in a row lacked.
    var gone: Set<String> = []
}
