import FuturesFeed
import Rings
import Zlib

/// Readers that reconnect with the id of their last event.
extension EventFanOut {
    /// Begins a connection: behind the reader's last event, or with snapshots.
    func begin(_ client: inout EventClient, _ opening: Opening, _ now: Int64) -> EventClient.Connection {
        // An exact capacity, because most readers never add another stream.
        client.reader.subscriptions.reserveCapacity(opening.values.count)
        for value in opening.values { join(&client, value.ring) }
        guard client.socket == nil else { return begin(&client, socket: opening, now) }
        let replayed = goOn(&client, opening)
        tally.resumes[opening.resumption(replayed: replayed), default: 0] &+= 1
        if client.options.isCompressed { client.privateBytes.append(EventClient.PrivateBytes(bytes: GzipChecksum.header)) }
        if client.options.isPadded { enqueuePrivate(&client, Self.padding) }
        enqueuePrivate(&client, EventEncoder.session(opening, replayed: replayed))
        return replayed == nil ? sendSnapshots(opening.values, to: &client, opening.head, now) : flush(&client, now)
    }

    /// A comment of 2 KiB, because some proxies hold back the first bytes of a response.
    private static let padding = Array(":".utf8) + Array(repeating: UInt8(ascii: " "), count: 2046) + Array("\n".utf8)

    /// Moves the reader's cursors after its last event, if that id covers the same streams and every ring still holds all later events. Returns the
    /// number of those events; nil if the reader needs snapshots instead.
    private func goOn(_ client: inout EventClient, _ opening: Opening) -> Int? {
        guard case .after(let sequence, let streams) = opening.resume, streams == client.reader.streams, sequence <= opening.head.sequence,
            reach(opening.values.map(\.ring), back: sequence)
        else { return nil }
        return move(&client, behind: sequence)
    }

    /// Whether these rings hold every event after the given one.
    func reach(_ wanted: [Int], back sequence: UInt64) -> Bool { wanted.allSatisfy { rings.contains($0) && rings[$0].view.floor <= sequence } }

    /// Moves the reader's cursors after an event. Returns the number of events that follow.
    func move(_ client: inout EventClient, behind sequence: UInt64) -> Int {
        var replayed = 0
        for place in client.reader.subscriptions.indices {
            let ring = client.reader.subscriptions[place].ring
            guard rings.contains(ring) else { continue }
            let cursor = rings[ring].view.ordinal(after: sequence)
            client.reader.subscriptions[place].cursor = cursor
            guard case let end = rings[ring].view.endOrdinal, cursor < end else { continue }
            replayed += Int(end - cursor)
            client.backlogEnd = max(client.backlogEnd, rings[ring].view[end - 1].sequence)
        }
        client.reader.lastSequence = sequence
        return replayed
    }
}
