/// A message of the venue as it was received, for readers of its sockets.
package struct VenueMessage: Sendable, Equatable {
    package let stream: FuturesServiceStreamName
    /// The whole text, with the name of the stream. Nil if messages are missing here, which no later message makes up for.
    package let text: [UInt8]?

    package init(stream: FuturesServiceStreamName, text: [UInt8]?) { (self.stream, self.text) = (stream, text) }
}

extension FuturesServiceStreamName {
    /// Whether a client of the venue's sockets needs each message: it is an event of its own, or changes the book that the ones before it made. Of other
    /// streams the newest message is enough.
    package var needsEachMessage: Bool { mergeRule == .append || mergeRule == .book }

    /// Whether the loss of a message harms such a client. No later message repeats the final one of a bar.
    package var isHarmedByLoss: Bool { needsEachMessage || [.kline, .earlyKline, .continuousKline].contains(channel) }
}

/// The text of the message that a step processes. It must not be kept, because its memory is valid only during the step.
package struct MessageText: @unchecked Sendable {
    private let text: UnsafeBufferPointer<UInt8>

    package init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    var bytes: [UInt8] { Array(text) }

    func copy(to bytes: inout [UInt8]) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: text)
    }
}
