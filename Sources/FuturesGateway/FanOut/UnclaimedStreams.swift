import MicroHTTP

/// Open streams for which the hub has not posted `open` yet, with the bytes that their clients have already sent.
struct UnclaimedStreams {
    private var streams: Set<EventStream> = []
    /// Most clients send nothing before.
    private var bytes: [EventStream: [UInt8]] = [:]

    mutating func add(_ stream: EventStream) { streams.insert(stream) }

    func contains(_ stream: EventStream) -> Bool { streams.contains(stream) }

    /// Keeps more bytes of a client; false if they exceed the limit.
    mutating func append(_ more: UnsafeRawBufferPointer, of stream: EventStream, atMost limit: Int) -> Bool {
        let early = bytes[stream, default: []]
        guard early.count + more.count <= limit else { return false }
        bytes[stream] = early + more
        return true
    }

    /// Removes a stream, and returns the bytes of its client; nil if it is not unclaimed.
    mutating func remove(_ stream: EventStream) -> [UInt8]? {
        guard streams.remove(stream) != nil else { return nil }
        let early = bytes.removeValue(forKey: stream)
        // A burst of new readers would otherwise cost memory for as long as the process lives.
        if streams.isEmpty { (streams, bytes) = ([], [:]) }
        return early ?? []
    }
}
