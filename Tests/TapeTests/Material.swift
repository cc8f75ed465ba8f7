import FeedCore
import Foundation
import Replication
import Synchronization

@testable import Tape

/// A tape's files in memory, which fail if they are told to.
final class MemoryStorage: TapeStorage {
    struct State {
        var files: [String: [UInt8]] = [:]
        /// How many more bytes fit, and what is said if nothing does.
        var room = Int.max
        var error = TapeError(.full, "no room")
        var mostBytes = 0
    }

    let state = Mutex(State())

    func files() throws(TapeError) -> [(name: String, bytes: Int)] {
        state.withLock { $0.files.map { ($0.key, $0.value.count) } }.sorted { $0.0 < $1.0 }.map { (name: $0.0, bytes: $0.1) }
    }

    func open(_ name: String) throws(TapeError) -> any TapeFile {
        state.withLock { $0.files[name] = $0.files[name] ?? [] }
        return File(self, name)
    }

    func read(_ name: String, at offset: Int, count: Int) throws(TapeError) -> [UInt8] {
        guard let bytes = state.withLock({ $0.files[name] }) else { throw TapeError(.notFound, name) }
        return Array(bytes.dropFirst(offset).prefix(count))
    }

    func remove(_ name: String) throws(TapeError) { state.withLock { $0.files[name] = nil } }

    /// Changes a file behind the tape's back.
    func change(_ name: String, _ change: (inout [UInt8]) -> Void) { state.withLock { change(&$0.files[name, default: []]) } }

    func bytes(of name: String) -> [UInt8] { state.withLock { $0.files[name] ?? [] } }

    func fill(leaving room: Int = 0, _ code: TapeError.Code = .full) {
        state.withLock { ($0.room, $0.error) = (room, TapeError(code, "the disk says \(code)")) }
    }

    func empty() { state.withLock { $0.room = .max } }

    private final class File: TapeFile {
        private let storage: MemoryStorage
        private let name: String

        init(_ storage: MemoryStorage, _ name: String) { (self.storage, self.name) = (storage, name) }

        /// Writes as much as fits, as a disk does.
        func append(_ bytes: [UInt8]) throws(TapeError) {
            let error = storage.state.withLock { state -> TapeError? in
                let part = bytes.prefix(state.room)
                if state.room != .max { state.room -= part.count }
                state.files[name, default: []] += part
                state.mostBytes = max(state.mostBytes, state.files.values.reduce(0) { $0 + $1.count })
                return part.count < bytes.count ? state.error : nil
            }
            if let error { throw error }
        }

        func sync() throws(TapeError) {}

        var isRemoved: Bool { storage.state.withLock { $0.files[name] == nil } }

        func truncate(to count: Int) throws(TapeError) {
            storage.state.withLock { $0.files[name] = Array(($0.files[name] ?? []).prefix(count)) }
        }
    }
}

/// Events as an engine publishes them, numbered one after the other, one every millisecond.
struct Events {
    let epoch: UInt64
    var next: UInt64 = 1
    var at: Int64 = 1_763_900_000_000
    var random: SplitMix64

    init(epoch: UInt64 = 77, seed: UInt64 = 1) { (self.epoch, random) = (epoch, SplitMix64(seed: seed)) }

    mutating func one(_ stream: String = "btcusdt@bookTicker", at time: Int64? = nil) -> TapedRecord {
        at = time ?? at + 1
        defer { next += 1 }
        let price = UInt64.random(in: 1_000_000...9_999_999, using: &random)
        let body = "{\"stream\":\"\(stream)\",\"id\":\"\(EventID(epoch: epoch, sequence: next))\",\"receivedAt\":\(at),\"price\":\"\(price)\"}"
        return TapedRecord(FeedRecord(.value, of: stream, Array(body.utf8)[...]), id: EventID(epoch: epoch, sequence: next), at: at)
    }

    mutating func some(_ count: Int) -> [TapedRecord] { (0..<count).map { _ in one() } }
}

extension TapeRecorder {
    convenience init(
        _ storage: MemoryStorage, keep: Int64 = 86_400_000, bytes: Int = 1 << 30, inherited: TapePosition? = nil, streams: String = "*",
        now: Int64 = 1_763_900_000_000
    ) throws {
        try self.init(storage: storage, keep: keep, bytes: bytes, inherited: inherited, streams: streams, now: now)
    }

    /// Takes records and writes them as one block.
    func write(_ records: [TapedRecord], now: Int64? = nil) {
        let time = now ?? records.last?.at ?? 0
        take(HandOver.Batch(records: records), isHurried: true, now: time)
        rest(now: time)
    }
}

extension TapeReader {
    /// Everything that can be read: the events with data, and what is damaged.
    func everything() throws -> (events: [TapedRecord], damages: [TapeDamage], breaks: Int) {
        var (events, damages, breaks): ([TapedRecord], [TapeDamage], Int) = ([], [], 0)
        try walk { item in
            switch item {
            case .damage(let damage): damages.append(damage)
            case .messages(let messages, let isBroken):
                breaks += isBroken ? 1 : 0
                for message in messages {
                    if message.claim?.previous == 0 { breaks += 1 }
                    var number = message.first
                    for record in message.records {
                        defer { number += record.numbers }
                        guard record.kind.carriesData else { continue }
                        events.append(TapedRecord(record, id: EventID(epoch: message.epoch, sequence: number), at: message.sentAt))
                    }
                }
            }
            return true
        }
        return (events, damages, breaks)
    }
}

extension TapedRecord {
    /// What has to be the same after a reading; the time is told by messages, to a tenth of a second.
    var core: String { "\(id) \(record.kind) \(record.subject) \(String(decoding: record.body, as: UTF8.self))" }
}
