/// A dialect for which the gateway also answers the venue's own REST paths.
package protocol MirroredDialect: Dialect {
    /// The venue's paths; nil if there are none.
    var venueREST: VenueREST? { get }
}

extension FuturesDialect: MirroredDialect {
    package var venueREST: VenueREST? { VenueREST(dialect: self) }
}

extension CombinedDialect: MirroredDialect {
    package var venueREST: VenueREST? { (venue as? any MirroredDialect)?.venueREST }
}
