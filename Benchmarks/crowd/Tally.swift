import CEpoll
import Glibc

/// What all readers were sent, from a moment on.
struct Tally {
    var isCounting = false
    var events = 0
    var bytes = 0
    /// Events that a stream's own numbers say were left out, came again, or came with a lower id than one before.
    var missing = 0
    var repeated = 0
    var disordered = 0
    var delays: [UInt32] = []
    /// When the bytes at hand arrived, nanoseconds since 1970 UTC; zero if that is not known.
    var arrivedAt: Int64 = 0
    /// The wall clock less the monotonic one.
    private let clocksApart = wallNanoseconds() - Int64(bitPattern: monotonicNanoseconds())

    private let streams: [String: Int]
    private let sequence: [UInt8]?
    private let stamp: [UInt8]?
    private let isSocket: Bool
    private let name = Array(#""stream":""#.utf8)
    private let id = Array("\nid: ".utf8)
    /// Names are looked up by their bytes.
    private var places: [Int: [(bytes: [UInt8], place: Int)]] = [:]

    init(_ options: Options) {
        isSocket = options.isSocket
        streams = Dictionary(uniqueKeysWithValues: options.streams.enumerated().map { ($1, $0) })
        sequence = options.sequence.map { Array("\"\($0)\":".utf8) }
        stamp = options.stamp.map { Array("\"\($0)\":".utf8) }
        for (place, stream) in options.streams.enumerated() {
            let bytes = Array(stream.utf8)
            places[bytes.withUnsafeBufferPointer(Self.hash), default: []].append((bytes, place))
        }
    }

    private static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var hash: UInt64 = 14_695_981_039_346_656_037
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
        return Int(truncatingIfNeeded: hash)
    }

    mutating func take(_ event: UnsafeBufferPointer<UInt8>, _ reader: inout Reader) {
        guard isSocket || event.starts(with: "event: update".utf8), let place = stream(of: event) else { return }
        if let sequence, let number = number(after: sequence, in: event) {
            if let last = reader.last.updateValue(number, forKey: place), isCounting {
                if number > last + 1 { missing += Int(number - last - 1) } else if number <= last { repeated += 1 }
            }
        }
        if !isSocket, let number = identity(in: event) {
            if number <= reader.lastID { disordered += 1 }
            reader.lastID = number
        }
        guard isCounting else { return }
        events += 1
        if events % 16 == 0, let stamp, let due = number(after: stamp, in: event) {
            let now = arrivedAt > 0 ? arrivedAt - clocksApart : Int64(bitPattern: monotonicNanoseconds())
            delays.append(UInt32(clamping: (now - Int64(bitPattern: due)) / 1000))
        }
    }

    private func stream(of event: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let start = find(name, in: event), let end = event[start...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
        let bytes = UnsafeBufferPointer(rebasing: event[start..<end])
        return places[Self.hash(bytes)]?.first { $0.bytes.elementsEqual(bytes) }?.place
    }

    private func find(_ text: [UInt8], in event: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let base = event.baseAddress, let found = memmem(base, event.count, text, text.count) else { return nil }
        return UnsafeRawPointer(base).distance(to: UnsafeRawPointer(found)) + text.count
    }

    private func number(after text: [UInt8], in event: UnsafeBufferPointer<UInt8>) -> UInt64? {
        guard var place = find(text, in: event), place < event.count else { return nil }
        if event[place] == UInt8(ascii: "\"") { place += 1 }
        var number: UInt64 = 0
        while place < event.count, case let digit = event[place] &- UInt8(ascii: "0"), digit < 10 {
            number = number &* 10 &+ UInt64(digit)
            place += 1
        }
        return number
    }

    /// The sequence of the event's id.
    private func identity(in event: UnsafeBufferPointer<UInt8>) -> UInt64? {
        guard let start = find(id, in: event), let point = event[start...].firstIndex(of: UInt8(ascii: ".")) else { return nil }
        var number: UInt64 = 0
        for byte in event[(point + 1)...].prefix(while: { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "\n") }) {
            number = number &* 36 &+ UInt64(byte < UInt8(ascii: "a") ? byte &- UInt8(ascii: "0") : byte &- UInt8(ascii: "a") &+ 10)
        }
        return number
    }
}

func wallNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
