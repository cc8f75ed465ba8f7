#if canImport(Observation)
    public import FeedCore
    public import Observation

    /// A stream's complete content for SwiftUI views and other observers. It reads the stream while it lives.
    ///
    /// ```swift
    /// struct PriceView: View {
    ///     @State private var price = StreamStore(.markPrice(symbol: "BTCUSDT"), of: .shared)
    ///     var body: some View { Text(price.row?.markPrice.description ?? "–").opacity(price.state == .live ? 1 : 0.4) }
    /// }
    /// ```
    @MainActor @Observable public final class StreamStore<Row: Sendable> {
        /// The rows, all changes merged; empty before the first snapshot.
        public private(set) var rows: [Row] = []
        /// The stream's freshness. Only `live` means that no newer data is known to exist.
        public private(set) var state = FeedState.connecting
        /// Why the stream is unavailable, or its last error; nil when data arrives.
        public private(set) var error: FeedError?
        /// The cost of the last outage; nil if there was none.
        public private(set) var recovery: FeedRecovery?

        /// The last row, which is the value if the stream has a single symbol's value.
        public var row: Row? { rows.last }

        @ObservationIgnored private var reading: Task<Void, Never>?

        /// Reads a stream of a service.
        public init(_ stream: FeedStream<Row>, of service: FuturesFeedService) {
            let events = service.events(of: stream, merged: true)
            reading = Task { [weak self] in
                // A `for` loop loses the error's type on systems before iOS 18 and macOS 15.
                var iterator = events.makeAsyncIterator()
                do throws(FeedError) {
                    while let event = try await iterator.next() { self?.take(event) }
                } catch { self?.fail(error) }
            }
        }

        deinit { reading?.cancel() }

        private func take(_ event: StreamEvent<Row>) {
            state = event.state
            switch event.kind {
            case .update: (rows, error) = (event.rows, nil)
            case .fail(let failure): error = failure
            case .recover(let told): recovery = told
            case .status, .connect, .disconnect, .gap: break
            }
        }

        private func fail(_ failure: FeedError) { (state, error) = (.failed, failure) }
    }
#endif
