import Foundation
import Zlib

/// Sorts messages into files, and enforces both limits. Use it from one thread.
final class VenueFrameWriter {
    private struct File {
        var text: [UInt8] = []
        var lines: UInt64 = 0
        /// Begins with the first of these lines.
        var pause = Pause()
    }

    private let storage: TapeDirectory
    private let deflater = Deflater(level: 6)
    private let keep: Int64
    private let mostBytes: Int
    private var files: [String: File] = [:]
    private var isOpen = false
    /// The waits after a failure of the disk, and after files were removed.
    private var (failure, cleaning) = (Pause(), Pause())
    /// The hour of the most recent file names.
    private var hour: (number: Int64, text: String) = (.min, "")
    /// The files of the current hour, to limit their number if a venue sends ever new names.
    private var hourNames: Set<String> = []
    /// The files of the current hour whose last member is known to be complete.
    private var wholeNames: Set<String> = []
    private(set) var trouble: TapeError?
    private(set) var storedBytes = 0
    /// Messages lost since this was last read.
    private var lost: UInt64 = 0

    init(_ storage: TapeDirectory, keep: Int64, bytes: Int) { (self.storage, self.keep, mostBytes) = (storage, keep, bytes) }

    var missed: UInt64 {
        defer { lost = 0 }
        return lost
    }

    /// Processes messages in the format in which `VenueFrameTape` collects them.
    func take(_ bytes: [UInt8]) {
        var place = 0
        while place + 14 <= bytes.count {
            let (nanoseconds, length) = bytes.withUnsafeBytes {
                ($0.loadUnaligned(fromByteOffset: place, as: Int64.self), Int($0.loadUnaligned(fromByteOffset: place + 10, as: UInt32.self)))
            }
            let (line, subject) = (bytes[place + 8], place + 14..<place + 14 + Int(bytes[place + 9]))
            let text = subject.upperBound..<subject.upperBound + length
            guard text.upperBound <= bytes.count else { return assertionFailure("A message is cut.") }
            append(bytes[text], of: bytes[subject], line, nanoseconds)
            place = text.upperBound
        }
    }

    private func append(_ text: ArraySlice<UInt8>, of subject: ArraySlice<UInt8>, _ line: UInt8, _ nanoseconds: Int64) {
        let name = String(decoding: subject, as: UTF8.self).lowercased() + "_" + hourText(nanoseconds) + (line > 0 ? ".line\(line + 1)" : "") + ".gz"
        guard hourNames.contains(name) || hourNames.count < Self.mostFiles else {
            lost += 1
            return
        }
        hourNames.insert(name)
        var file = files[name] ?? File()
        files[name] = nil
        if file.lines == 0 { file.pause.begin(at: nanoseconds / 1_000_000) }
        file.text += "\(nanoseconds) ".utf8
        // A line break between two members of an object has no meaning, and would end the line.
        if text.contains(UInt8(ascii: "\n")) { file.text += text.filter { $0 != UInt8(ascii: "\n") } } else { file.text += text }
        file.text.append(UInt8(ascii: "\n"))
        file.lines += 1
        files[name] = file
    }

    /// `2026112309`
    private func hourText(_ nanoseconds: Int64) -> String {
        let number = nanoseconds / 3_600_000_000_000
        if hour.number != number { (hour, hourNames, wholeNames) = ((number, FrameFile.hour(number)), [], []) }
        return hour.text
    }

    /// Writes text that was collected for long enough, or all of it.
    func flush(isEnd: Bool, now: Int64) {
        clean(now)
        for (name, file) in files where isEnd || file.text.count >= Self.memberBytes || file.pause.isOver(after: Self.patience, at: now) {
            files[name] = nil
            write(file, name, now)
        }
    }

    private func write(_ file: File, _ name: String, _ now: Int64) {
        guard failure.isOver(after: TapeRecorder.patience, at: now) else { return lost += file.lines }
        do throws(TapeError) {
            if !isOpen {
                try storage.make()
                isOpen = true
            }
            guard let member = deflater.gzip(file.text) else { throw TapeError(.failed, "there is not enough memory to compress") }
            guard storedBytes + member.count <= mostBytes else {
                throw TapeError(.full, "the venue's messages of this hour exceed tape-frames-bytes; raise it")
            }
            let file = try storage.open(name)
            if !wholeNames.contains(name) { try cut(name, file) }
            let before = try storage.size(of: name)
            wholeNames.remove(name)
            do throws(TapeError) { try file.append(member) } catch {
                try? file.truncate(to: before)
                throw error
            }
            wholeNames.insert(name)
            storedBytes += member.count
            trouble = nil
        } catch {
            trouble = error
            failure.begin(at: now)
            lost += file.lines
        }
    }

    /// Removes the last member if its writing was interrupted, for example by a kill. Readers could not read anything after it.
    private func cut(_ name: String, _ file: any TapeFile) throws(TapeError) {
        let size = try storage.size(of: name)
        // Fewer bytes than a header are the beginning of the first member.
        var end = size < GzipChecksum.header.count ? 0 : size
        while end > 0, let start = try lastMember(of: name, before: end) {
            let member = try storage.read(name, at: start, count: end - start)
            guard let whole = Gunzip.wholeLength(member) else { throw TapeError(.failed, "memory is too short to check \(name)") }
            end = start + whole
            if whole > 0 { break }
        }
        if end < size { try file.truncate(to: end) }
    }

    /// Where the last member before `end` begins; nil if this program wrote none.
    private func lastMember(of name: String, before end: Int) throws(TapeError) -> Int? {
        let header = GzipChecksum.header
        var (start, length) = (end, Self.memberBytes)
        while start > 0 {
            start = max(0, end - length)
            let bytes = try storage.read(name, at: start, count: end - start)
            let places = bytes.indices.dropLast(header.count - 1)
            if let place = places.last(where: { bytes[$0] == header[0] && bytes[$0...].starts(with: header) }) { return start + place }
            length *= 8
        }
        return nil
    }

    /// Removes files that are too old or too large, once a minute and whenever the next member might not fit.
    private func clean(_ now: Int64) {
        guard cleaning.isOver(after: storedBytes + (4 << 20) > mostBytes ? 1_000 : 60_000, at: now) else { return }
        cleaning.begin(at: now)
        guard let found = try? storage.files() else { return }
        let kept = found.compactMap { FrameFile($0.name, bytes: $0.bytes) }
        var sum = kept.reduce(0) { $0 + $1.bytes }
        for file in FrameFile.surplus(kept, keep: keep, bytes: mostBytes - min(4 << 20, mostBytes / 4), now: now) {
            guard (try? storage.remove(file.name)) != nil else { continue }
            sum -= file.bytes
        }
        storedBytes = sum
    }
}

/// A file of messages; its name contains the hour.
struct FrameFile: Equatable {
    let name: String
    let bytes: Int
    /// Hours since 1970 UTC.
    let hour: Int64

    /// Nil if the name does not belong to such a file.
    init?(_ name: String, bytes: Int) {
        guard name.hasSuffix(".gz"), let bar = name.lastIndex(of: "_") else { return nil }
        let digits = name[name.index(after: bar)...].prefix(10)
        guard digits.count == 10, let number = Int(digits), let hour = Self.hour(number) else { return nil }
        (self.name, self.bytes, self.hour) = (name, bytes, hour)
    }

    /// The files to remove: those whose hour ended more than `keep` ms ago, then the oldest hours until the rest has at most `bytes`. The current
    /// hour stays.
    static func surplus(_ files: [FrameFile], keep: Int64, bytes: Int, now: Int64) -> [FrameFile] {
        let current = now / 3_600_000
        var sum = files.reduce(0) { $0 + $1.bytes }
        return files.sorted { ($0.hour, $0.name) < ($1.hour, $1.name) }.filter { file in
            guard file.hour < current, (file.hour + 1) * 3_600_000 + keep < now || sum > bytes else { return false }
            sum -= file.bytes
            return true
        }
    }

    /// An hour as text, such as `2026112309`.
    static func hour(_ number: Int64) -> String {
        var (seconds, parts) = (time_t(number * 3600), tm())
        gmtime_r(&seconds, &parts)
        func padded(_ value: Int32, _ width: Int) -> String { String(repeating: "0", count: max(0, width - "\(value)".count)) + "\(value)" }
        return padded(parts.tm_year + 1900, 4) + padded(parts.tm_mon + 1, 2) + padded(parts.tm_mday, 2) + padded(parts.tm_hour, 2)
    }

    private static func hour(_ digits: Int) -> Int64? {
        var parts = tm()
        (parts.tm_year, parts.tm_mon) = (Int32(digits / 1_000_000) - 1900, Int32(digits / 10_000 % 100) - 1)
        (parts.tm_mday, parts.tm_hour) = (Int32(digits / 100 % 100), Int32(digits % 100))
        let hour = Int64(timegm(&parts)) / 3600
        return hour > 0 && Self.hour(hour) == String(digits) ? hour : nil
    }
}
