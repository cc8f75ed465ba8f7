/// The cursors of a reader or of a compression group in the rings.
package struct ReaderCursors {
    /// Small, because a reader may have 200 of them.
    package struct Subscription {
        /// The ring's number, and four bits for the following properties.
        private var logAndFlags: UInt32
        private var listPlace: Int32 = -1
        /// The next event to read.
        package var cursor: UInt64
        /// Events before this sequence are sent without their id: the reader receives them late after a pause, and ids may only rise.
        package var withoutIDUntil: UInt64 = 0

        package var isPaused: Bool {
            get { logAndFlags & 1 != 0 }
            set { set(1, newValue) }
        }
        /// The ring has dropped the next event; a snapshot is on its way.
        package var awaitsValue: Bool {
            get { logAndFlags & 2 != 0 }
            set { set(2, newValue) }
        }
        /// A snapshot must be requested when there is room to send it.
        package var needsValue: Bool {
            get { logAndFlags & 4 != 0 }
            set { set(4, newValue) }
        }
        /// A paced reader gets a stream's events at intervals, and this stream's turn has not come.
        package var isHeld: Bool {
            get { logAndFlags & 8 != 0 }
            set { set(8, newValue) }
        }
        /// Below 2²⁸.
        package var ring: Int { Int(logAndFlags >> 4) }
        /// Its index in the ring's list of readers; -1 while a group reads for it.
        package var readerIndex: Int {
            get { Int(listPlace) }
            set { listPlace = Int32(clamping: newValue) }
        }

        private mutating func set(_ flag: UInt32, _ isSet: Bool) { logAndFlags = isSet ? logAndFlags | flag : logAndFlags & ~flag }

        package init(ring: Int, cursor: UInt64) {
            logAndFlags = UInt32(clamping: ring) &<< 4
            self.cursor = cursor
        }
    }

    package var format: EventFormat
    /// Whether its events include timings.
    package let tellsTimings: Bool
    package var subscriptions: [Subscription] = []
    /// When the turns of a paced reader's streams are due, by the rings' numbers, monotonic nanoseconds.
    package var dueAt: [Int: Int64] = [:]
    /// The set of streams that its ids cover.
    package var streams = StreamSet()
    /// The highest sequence read.
    package var lastSequence: UInt64 = 0
    /// How many more events with data it wants; nil for no limit.
    package var remaining: Int? {
        get { remainingCount.map { Int($0) } }
        set { remainingCount = newValue.map { Int32(clamping: $0) } }
    }
    private var remainingCount: Int32?

    package init(format: EventFormat, remaining: Int? = nil, tellsTimings: Bool = false) {
        self.format = format
        self.tellsTimings = tellsTimings
        remainingCount = remaining.map { Int32(clamping: $0) }
    }

    /// Whether a snapshot is on its way.
    package var awaitsValue: Bool { subscriptions.contains { $0.awaitsValue } }

    /// The first of its streams, from an index on, that it cannot continue to read: the ring has dropped the events, or a snapshot must come first.
    package func firstFallen(from place: Int, _ rings: borrowing Slab<FollowedRing>) -> Int? {
        for place in place..<max(place, subscriptions.count) {
            let subscription = subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.isHeld, rings.contains(subscription.ring) else { continue }
            if subscription.needsValue || subscription.cursor < rings[subscription.ring].view.firstOrdinal { return place }
        }
        return nil
    }

    /// The index after the stream that `nextFallen` found last.
    private var turn = 0

    /// The same, but the search begins behind the stream that was found last, so that each has its turn.
    package mutating func nextFallen(_ rings: borrowing Slab<FollowedRing>) -> Int? {
        let place = firstFallen(from: turn, rings) ?? firstFallen(from: 0, rings)
        if let place { turn = place + 1 }
        return place
    }
}
