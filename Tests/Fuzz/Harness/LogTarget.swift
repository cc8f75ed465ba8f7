import FeedCore
import FeedDialects
import Rings

@testable import Replication
@testable import Tape

/// What stands in a cluster's log, or in a block of a tape.
enum LogTarget {
    private static let names = ["btcusdt@bookTicker", "btcusdt@depth", "btcusdt@aggTrade", "btcusdt@kline_1m", "!markPrice@arr@1s", "!ticker@arr"]
        .compactMap { FuturesServiceStreamName($0) }

    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        let bytes = Array(input)
        for finding in SegmentScanner.scan(bytes) {
            guard case .block(let entry) = finding else { continue }
            promise(entry.end <= UInt64(bytes.count), "a block ends behind its segment")
            promise(BlockHeader(entry.header.bytes[...]) == entry.header, "a header reads as another one")
        }
        // The text of a block, or a single message.
        for messages in [BlockText.messages(bytes), LogMessage(bytes).map { [$0] }].compactMap(\.self) { follow(messages) }
    }

    private static func follow(_ messages: [LogMessage]) {
        var past = PastFeed { _ in 100 }
        var epochs = EpochTable()
        for message in messages {
            promise(LogMessage(message.bytes) == message, "a message reads as another one")
            let head = epochs.head
            if epochs.judge(message, inOrder: true) == .counts, message.first == head + 1 { promise(epochs.head >= head, "numbers go back") }
            past.take(message)
            for record in message.records { read(Array(record.body)) }
        }
        _ = past.inherited()
        promise(past.events.allSatisfy { $0.id.sequence < LogMessage.largestNumber * 2 }, "a number overflows")
    }

    /// A content that can be read is written, and what is written reads and writes as the same again.
    private static func read(_ body: [UInt8]) {
        for name in names {
            guard let content = ContentReader.content(body, of: name) else { continue }
            let written = write(content)
            guard let again = ContentReader.content(written, of: name) else { return promise(false, "what was written cannot be read") }
            promise(write(again) == written, "\(content.rows) reads as \(again.rows)")
        }
    }

    private static func write(_ content: FuturesServiceFeedContent) -> [UInt8] { ContentEncoder.event(content) }
}
