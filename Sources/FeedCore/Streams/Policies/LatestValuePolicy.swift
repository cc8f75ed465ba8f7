/// Each message replaces the value. One message, or one answer over REST, makes it complete.
enum LatestValuePolicy: StreamPolicy {
    static let isWholeWithEachMessage = true
    static let usesEarlierAnswer = true

    static func isComplete(_ stream: StreamMachine) -> Bool { true }

    static func confirmed(wasLost: Bool, _ stream: inout StreamMachine, _ feed: inout FeedContext) {
        if wasLost { stream.fetchIfNeeded(&feed) }
    }
}
