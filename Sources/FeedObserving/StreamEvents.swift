public import FeedCore

/// The events of one stream, for a loop. Each loop subscribes when it starts, and unsubscribes when its task is cancelled or its iterator is
/// released.
///
/// A slow loop delays no other loop and gets no inconsistent content. A newer complete value replaces older ones. If more than 64 changes accumulate,
/// the complete content replaces them. If every message counts, `gap` precedes it.
public struct StreamEvents<Row: Sendable>: AsyncSequence, Sendable {
    let service: FuturesFeedService
    let stream: FeedStream<Row>
    let forceFetch: Bool
    let isMerged: Bool

    /// Subscribes.
    public func makeAsyncIterator() -> Iterator { Iterator(EventLease(service, stream.name, forceFetch: forceFetch, isMerged: isMerged), stream) }

    /// Returns the events to a loop.
    public struct Iterator: AsyncIteratorProtocol {
        private let lease: EventLease
        private let stream: FeedStream<Row>

        init(_ lease: EventLease, _ stream: FeedStream<Row>) { (self.lease, self.stream) = (lease, stream) }

        /// The next event; nil after the stream has ended, the service has stopped or the task was cancelled. Throws if the stream is unavailable.
        public mutating func next() async throws(FeedError) -> StreamEvent<Row>? { try await next(isolation: nil) }

        /// The next event.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(FeedError) -> StreamEvent<Row>? {
            try await lease.next().map { StreamEvent($0, of: stream) }
        }
    }
}

/// A loop's subscription, which ends with its iterator.
final class EventLease: Sendable {
    private let service: FuturesFeedService
    private let queue: EventQueue
    private let id: ObserverID

    init(_ service: FuturesFeedService, _ name: FuturesServiceStreamName, forceFetch: Bool, isMerged: Bool) {
        self.service = service
        queue = EventQueue(name, isMerged: isMerged) { [weak service] in service?.content(of: name) }
        id = service.open(queue)
        service.feed.step(.observe(id, [name], forceFetch: forceFetch))
    }

    deinit { end() }

    /// Unsubscribes, and ends the loop.
    func end() { service.close(id) }

    func next() async throws(FeedError) -> EventQueue.Delivery? {
        let (service, id) = (service, id)
        let result = await withTaskCancellationHandler {
            await queue.next()
        } onCancel: {
            service.close(id)
        }
        return try result.get()
    }
}
