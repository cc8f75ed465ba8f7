/// Someone's places in the logs: a reader's, or a compression group's.
package struct ReaderCursors {
    /// Small, because a reader may have two hundred.
    package struct Subscription {
        /// The log's number, and four bits for the properties below.
        private var logAndFlags: UInt32
        private var listPlace: Int32 = -1
        /// The next event to read.
        package var cursor: UInt64
        /// Events before this one go without their id: the reader catches up with them after a pause, and ids only rise.
        package var withoutIDUntil: UInt64 = 0

        package var isPaused: Bool {
            get { logAndFlags & 1 != 0 }
            set { set(1, newValue) }
        }
        /// The log has dropped its event; the latest full value is on its way.
        package var awaitsValue: Bool {
            get { logAndFlags & 2 != 0 }
            set { set(2, newValue) }
        }
        /// It has to ask for the latest full value once there is room to send it.
        package var needsValue: Bool {
            get { logAndFlags & 4 != 0 }
            set { set(4, newValue) }
        }
        /// Its turn has not come: a paced reader gets a stream's events at intervals.
        package var isHeld: Bool {
            get { logAndFlags & 8 != 0 }
            set { set(8, newValue) }
        }
        /// Less than 2²⁸.
        package var log: Int { Int(logAndFlags >> 4) }
        /// Its place in the log's list of readers; -1 while a group reads for it.
        package var readerIndex: Int {
            get { Int(listPlace) }
            set { listPlace = Int32(clamping: newValue) }
        }

        private mutating func set(_ flag: UInt32, _ isSet: Bool) { logAndFlags = isSet ? logAndFlags | flag : logAndFlags & ~flag }

        package init(log: Int, cursor: UInt64) {
            logAndFlags = UInt32(clamping: log) &<< 4
            self.cursor = cursor
        }
    }

    package let format: EventFormat
    /// Whether its events tell their times.
    package let tellsTimings: Bool
    package var subscriptions: [Subscription] = []
    /// When the turns of a paced reader's streams come, by the logs' numbers, monotonic nanoseconds.
    package var dueAt: [Int: Int64] = [:]
    /// The streams whose events have all come, as its ids say.
    package var streams = StreamSet()
    /// The highest id read.
    package var lastSequence: UInt64 = 0
    /// How many more events with data it wants; nil for all that come.
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

    /// The first of its streams, from a place on, that it cannot go on reading: the log has dropped the events, or a value has to come before them.
    package func firstFallen(from place: Int, _ logs: borrowing Slab<EventLog>) -> Int? {
        for place in place..<max(place, subscriptions.count) {
            let subscription = subscriptions[place]
            guard !subscription.isPaused, !subscription.awaitsValue, !subscription.isHeld, logs.contains(subscription.log) else { continue }
            if subscription.needsValue || subscription.cursor < logs[subscription.log].ring.firstOrdinal { return place }
        }
        return nil
    }
}
