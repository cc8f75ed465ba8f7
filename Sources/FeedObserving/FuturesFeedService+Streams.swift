public import FeedCore

extension FuturesFeedService {
    /// The events of a stream, for a loop:
    ///
    /// ```swift
    /// for try await event in service.events(of: .markPrice(symbol: "BTCUSDT")) {
    ///     if let price = event.row?.markPrice { print(price, event.state) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - stream: the stream, such as `.markPrice(symbol: "BTCUSDT")`.
    ///   - forceFetch: also asks REST for a snapshot.
    ///   - merged: gives the whole content with each update, all changes merged, instead of the rows that changed. A book is one row of levels.
    public func events<Row>(of stream: FeedStream<Row>, forceFetch: Bool = false, merged: Bool = false) -> StreamEvents<Row> {
        StreamEvents(service: self, stream: stream, forceFetch: forceFetch, isMerged: merged)
    }

    /// The complete content of a stream when it is `live`. If that takes longer than `timeout`, the content known by then; check its `state`.
    ///
    /// - Throws: `FeedError` with code `unknownStream` or `settled` if there is no such stream, and `timedOut` if no content arrived or the task was
    ///   cancelled.
    public func latest<Row>(of stream: FeedStream<Row>, timeout: Duration = .seconds(5)) async throws(FeedError) -> StreamEvent<Row> {
        let lease = EventLease(self, stream.name, forceFetch: false, isMerged: true)
        let alarm = Task {
            try await Task.sleep(for: timeout)
            lease.end()
        }
        defer { alarm.cancel() }
        var last: EventQueue.Delivery?
        while let told = try await lease.next() {
            if told.content != nil { last = told } else { last?.state = told.state }
            if last != nil, told.state == .live { break }
        }
        guard let last else {
            throw FeedError(
                .timedOut, "No data of \(stream.name) arrived within \(timeout). Check what the service reports to its observers, or wait longer.")
        }
        return StreamEvent(last, of: stream)
    }
}
