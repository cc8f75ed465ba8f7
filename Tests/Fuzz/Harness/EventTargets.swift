import FeedDialects
import Rings
import ServerSentEvents

@testable import FeedCore

/// Event streams, read and written.
enum EventTargets {
    /// The parser gives the same events however the bytes are cut.
    static func parser(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, rest) = input.choice
        func read(_ size: Int) -> ([ServerSentEvent], String, Int?) {
            var parser = ServerSentEventParser()
            var events: [ServerSentEvent] = []
            for start in stride(from: 0, to: rest.count, by: size) {
                events += (try? parser.read(rest[start..<min(start + size, rest.count)])) ?? []
            }
            return (events, parser.lastEventID, parser.retryMs)
        }
        promise(read(max(1, rest.count)) == read(1 + Int(choice) % 8), "cut otherwise, other events")
    }

    /// Whatever an upstream said, an event is one event, with its data as they were: JSON on one line.
    static func encoder(_ input: UnsafeBufferPointer<UInt8>) {
        let (choice, rest) = input.choice
        let text = String(decoding: rest, as: UTF8.self)
        guard let name = FuturesServiceStreamName("prices:AAPL@quote") else { return }
        let id = EventID(epoch: 7, sequence: UInt64(choice))
        let kind: FeedEvent.Kind
        switch choice % 4 {
        case 0:
            guard let row = JSONRow(text) else { return }
            kind = .updated(
                FuturesServiceFeedContent(
                    streamName: name, id: id, kind: .full, state: .live, source: .websocket, eventTime: nil, receivedAt: 1, rows: .json([row])))
        case 1: kind = .disconnected(reason: text)
        case 2: kind = .failed(FeedError(.venueRejected, text, venueCode: Int(choice)), fetch: false)
        default:
            let error = StreamSubscriberRecoverError(reason: FeedError(.unreachable, text), attempts: 1)
            kind = .recovered(FeedRecovery(error: error, method: .snapshot, downMs: 1))
        }
        guard let words = EventEncoder.words(FeedEvent(stream: name, id: id, kind: kind)) else { return }
        promise(StrictJSON.depth(of: Array(words.data)) != nil, "data are no JSON")
        for format in EventFormat.ofEvents {
            let point = words.id.map { ResumePoint($0, of: StreamSet(name)) }
            let (text, idStart) = format.text(words, of: name.description)
            let bytes = idStart.map { text[..<$0] + format.end(point) } ?? text
            guard format != .lines else {
                promise(bytes.last == 0x0A && bytes.count { $0 == 0x0A || $0 == 0x0D } == 1, "a line is not one line")
                promise(StrictJSON.depth(of: bytes) != nil, "a line is no JSON")
                continue
            }
            var parser = ServerSentEventParser()
            let events = (try? parser.read(bytes)) ?? []
            promise(events.count == 1, "an event is read as \(events.count)")
            promise(events.allSatisfy { StrictJSON.depth(of: $0.data.utf8) != nil }, "an event's data are no JSON")
            if format == .events { promise(events.first?.data.utf8.elementsEqual(words.data) == true, "an event's data are others") }
            promise(parser.lastEventID == (point?.description ?? ""), "an event's id is another")
        }
    }
}
