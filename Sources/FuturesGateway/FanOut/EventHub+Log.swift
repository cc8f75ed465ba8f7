import EventLogs
import FuturesFeed
import NIOCore
import Replication

/// Events from the cluster's log, if this gateway is a node. They arrive encoded and are identical on every node.
extension EventHub {
    func receive(_ event: MirroredEvent) {
        if !event.isLocal { state.value.tape?.record(event.stream, event.id, FeedRecord(event.kind, of: event.stream.description, event.body)) }
        guard let stream = post(event) else { return }
        count(event, of: stream)
        noteChange(of: event.stream)
        switch event.kind {
        case .fetchedValue, .fetchedChange: answerWaiters(event.stream, .success(())) { _ in true }
        case .value, .change: answerWaiters(event.stream, .success(())) { $0.awaited != .fetch }
        case .status: answerWaiters(event.stream, .success(())) { $0.awaited == .change }
        case .fetchFailed:
            guard let error = stream.failure else { break }
            answerWaiters(event.stream, .failure(error)) { $0.awaited == .fetch }
        default: break
        }
    }

    /// Appends the event to its rings, in every format that has one; nil if readers do not get this event.
    @discardableResult
    func post(_ event: MirroredEvent) -> Stream? {
        forgetAnswers(event.stream)
        if event.kind == .ended {
            state.value.lastDropped = event.id.sequence
            drop(event.stream)
            return nil
        }
        guard let name = event.kind.eventName else { return nil }
        let stream = stream(event.stream, floor: max(feed.floor, state.value.lastDropped))
        let receivedAt = Int64(clamping: NIODeadline.now().uptimeNanoseconds)
        let members = Array(event.body)
        for format in EventFormat.allCases {
            guard let log = stream.logs[format.rawValue] else { continue }
            let carriesData = event.kind.carriesData
            let body = format.body(name, of: event.stream.description, members) + (carriesData ? [] : format.end(nil))
            let id = carriesData ? format.idStart(event.id) : []
            rings.append(
                log, body: body[...], id: id[...], carriesData: carriesData, sequence: event.id.sequence, eventTime: nil, receivedAt: receivedAt)
        }
        return stream
    }

    /// Counts the event for the metrics. Keeps the stream's last failure until content arrives, and its upstream's last fault.
    private func count(_ event: MirroredEvent, of stream: Stream) {
        let kind = stream.kind ?? state.value.tally.kind(of: event.stream)
        stream.kind = kind
        state.value.tally.count(event, kind)
        switch event.kind {
        case .failed, .fetchFailed:
            guard let error = MirroredWords.error(event.body) else { return }
            stream.failure = error
            noteTrouble(.failed(error, fetch: event.kind == .fetchFailed), upstream: state.value.tally.kinds[kind].upstream)
        case .disconnected:
            guard let reason = MirroredWords.reason(event.body) else { return }
            noteTrouble(.disconnected(reason: reason), upstream: state.value.tally.kinds[kind].upstream)
        default:
            if event.kind.carriesData { stream.failure = nil }
        }
    }

    /// Disconnects all readers. They reconnect immediately and get snapshots, because the log no longer contains their ids.
    func beginAnew() {
        state.value.tape?.breakOff()
        for number in state.value.clients.keys {
            end(number, code: "reset", reason: "The log has lost events; reconnect to get snapshots.")
        }
    }

    func receiveContent(of name: FuturesServiceStreamName) {
        forgetAnswers(name)
        noteChange(of: name)
        for (number, client) in state.value.clients where client.isOpen && client.streams.contains(name) {
            if let log = state.value.streams[name]?.logs[client.options.format.rawValue] { refill(number, log: log) }
        }
    }
}
