@testable import FeedCore

/// A world without chance but in the market: the limits a house runs with, one reader that wants some streams and stays, and nothing that goes
/// wrong but what the script says.
struct Script {
    /// What the reader wants of the only symbol.
    var channels: Set<FuturesServiceStreamName.Channel>
    var duration: Nanoseconds
    /// Between two moves of the market.
    var pause: ClosedRange<Nanoseconds>
    /// How long a mark price may stay away.
    var staleAfter: Duration = .seconds(5)
    /// At which age a connection is replaced; nil for what a house runs with.
    var rotateAfter: Duration?
    /// How many lines there are to the venue.
    var lines = 1
    /// What happens when.
    var acts: [(at: Nanoseconds, act: (Simulation) -> Void)] = []

    /// Data as they come on a working day.
    static let busy: ClosedRange<Nanoseconds> = .ms(100)...Nanoseconds.ms(900)
    /// Something now and then.
    static let quiet: ClosedRange<Nanoseconds> = .seconds(20)...Nanoseconds.seconds(300)
}
