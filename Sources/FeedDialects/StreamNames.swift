package import FeedCore

/// The names of the streams on one connection, looked up by the bytes of the upstream's own names, so that a name is parsed once and not for every frame.
///
/// Bounded: if there is no room, a name replaces another one, which is then parsed again. Use it from one thread.
package final class StreamNames {
    @exclusivity(unchecked) private var names: [FuturesServiceStreamName?] = Array(repeating: nil, count: 1024)
    private static let probes = 4

    package init() {}

    /// A remembered name; nil if it is unknown or invalid.
    func name(_ text: UnsafeBufferPointer<UInt8>) -> FuturesServiceStreamName? {
        let place = place(of: text)
        for probe in place..<place + Self.probes {
            guard let name = names[probe & (names.count - 1)] else { return nil }
            var local = name.local
            if local.withUTF8({ $0.isEqual(to: text) }) { return name }
        }
        return nil
    }

    package func remember(_ name: FuturesServiceStreamName) {
        var local = name.local
        guard local.withUTF8({ self.name($0) }) == nil else { return }
        let place = local.withUTF8 { self.place(of: $0) }
        let free = (place..<place + Self.probes).first { names[$0 & (names.count - 1)] == nil }
        names[(free ?? place) & (names.count - 1)] = name
    }

    private func place(of text: UnsafeBufferPointer<UInt8>) -> Int {
        var hash = UInt64(text.count) &* 0x9E37_79B9_7F4A_7C15
        guard let start = text.baseAddress.map({ UnsafeRawPointer($0) }) else { return 0 }
        // Eight bytes at a time; the last eight may overlap the previous ones.
        var place = 0
        while text.count - place > 8 {
            hash = Self.mixed(hash, start.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            place += 8
        }
        if text.count >= 8 {
            hash = Self.mixed(hash, start.loadUnaligned(fromByteOffset: text.count - 8, as: UInt64.self))
        } else {
            for byte in text { hash = Self.mixed(hash, UInt64(byte)) }
        }
        // The highest bits depend on all others.
        return Int(truncatingIfNeeded: hash >> 54)
    }

    @inline(__always)
    private static func mixed(_ hash: UInt64, _ bytes: UInt64) -> UInt64 {
        let product = (hash ^ bytes) &* 0xFF51_AFD7_ED55_8CCD
        return product ^ product >> 32
    }
}
