import FeedCore
import Replication

/// Writes records as blocks, enforces both limits, and pauses while the disk fails. Use it from one thread.
///
/// A process never continues a segment of another process: an incomplete block after a kill stays, and readers skip it.
package final class TapeRecorder {
    /// The segment that is being written.
    private struct Open {
        let name: String
        let file: any TapeFile
        let index: any TapeFile
        let since: Int64
        var bytes = 0
        var indexBytes = 0
        var lastAt: Int64?
        var isSynced = true
    }

    private let storage: any TapeStorage
    private let lock: TapeLock?
    private let retention: Retention
    private let compressor = FrameCompressor()
    private var open: Open?
    private var segments: [Retention.Segment]
    private var nextNumber: UInt64
    private var text: BlockText
    /// The recorded streams, until they are noted on the tape.
    private var unnotedStreams: String?
    private var gapLog: (any TapeFile)?
    private var gapBytes: Int
    /// Gaps that have ended but are not in the gap log yet, and the current gap.
    private var gaps: [TapeGap] = []
    private var gap: TapeGap?
    /// The wait after a failure of the disk.
    private var pause = Pause()
    /// When the newest record on the tape was received, ms since 1970 UTC.
    private var lastAt: Int64
    package private(set) var state: TapeReading

    private static let streamsFile = "streams"

    /// Continues after the directory's content.
    ///
    /// - Parameters:
    ///   - lock: Keeps other processes away while this object lives.
    ///   - keep: How long events are kept, ms.
    ///   - bytes: The maximum size of all files together.
    ///   - inherited: Where the tape ended when the recorded feed took over from the previous one; nil if it did not.
    ///   - streams: The recorded names. If the names were others before, events are missing that the numbers do not reveal.
    ///   - now: Ms since 1970 UTC.
    package init(
        storage: any TapeStorage, lock: TapeLock? = nil, keep: Int64, bytes: Int, inherited: TapePosition? = nil, streams: String, now: Int64
    ) throws(TapeError) {
        (self.storage, self.lock) = (storage, lock)
        retention = Retention(keep: keep, bytes: bytes)
        let reader = TapeReader(storage)
        let found = try reader.segments()
        segments = found.map { Retention.Segment(name: $0.name, bytes: $0.bytes + $0.indexBytes, lastAt: reader.extent(of: $0)?.lastAt) }
        nextNumber = (found.last?.number ?? 0) + 1
        let end = reader.end()
        var isNoted = false
        if let file = try storage.files().first(where: { $0.name == Self.streamsFile }) {
            isNoted = try storage.read(file.name, at: 0, count: file.bytes) == Array(streams.utf8)
        }
        unnotedStreams = isNoted ? nil : streams
        text = BlockText(behind: end?.position, isBroken: end == nil || end?.position != inherited || !isNoted)
        lastAt = end?.lastAt ?? 0
        gapBytes = try storage.files().first { $0.name == TapeReader.gapLog }?.bytes ?? 0
        state = TapeReading()
        state.bytes = segments.reduce(gapBytes) { $0 + $1.bytes }
        if let end {
            gap = TapeGap(from: min(end.lastAt, now), to: now, reason: end.isOrderly ? .stopped : .killed, events: nil)
        }
    }

    /// Adds records, then the gap after them.
    package func take(_ batch: HandOver.Batch, isHurried: Bool, now: Int64) {
        for taped in batch.records { add(taped, isHurried: isHurried, now: now) }
        if let gap = batch.gap {
            flush(isHurried: isHurried, now: now)
            note(gap)
        }
    }

    private func add(_ taped: TapedRecord, isHurried: Bool, now: Int64) {
        guard mayWrite(now) else { return miss(taped) }
        guard taped.record.size < BlockHeader.mostBytes / 2 else {
            flush(isHurried: isHurried, now: now)
            return miss(taped, .failed, "a record of \(taped.record.size) bytes is too large")
        }
        if !text.isEmpty, text.begins(with: taped) || text.size >= Self.blockBytes { flush(isHurried: isHurried, now: now) }
        guard mayWrite(now) else { return miss(taped) }
        text.add(taped)
    }

    private func mayWrite(_ now: Int64) -> Bool { state.trouble == nil || pause.isOver(after: Self.patience, at: now) }

    /// Writes the collected text. Called at least once a second while there is any.
    func flush(isHurried: Bool = false, now: Int64) {
        guard let (text, header) = text.take() else { return writeGaps(now) }
        do throws(TapeError) {
            try write(text, header, isHurried ? .hurried : .usual, now)
            (state.trouble, state.troubleSince) = (nil, nil)
            try noteStreams()
            // A gap is added only while no text is collected, so the text just written follows it.
            if let gap { end(gap, at: header.firstAt) }
            writeGaps(now)
        } catch {
            fail(error, header, now)
        }
    }

    /// Notes the recorded streams. By then the claim that something is missing before it is on the tape.
    private func noteStreams() throws(TapeError) {
        guard let streams = unnotedStreams else { return }
        let file = try storage.open(Self.streamsFile)
        try file.truncate(to: 0)
        try file.append(Array(streams.utf8))
        try file.sync()
        unnotedStreams = nil
    }

    private func write(_ text: [UInt8], _ header: BlockHeader, _ effort: FrameCompressor.Effort, _ now: Int64) throws(TapeError) {
        var header = header
        guard let frame = compressor.frame(text, effort) else { throw TapeError(.failed, "there is not enough memory to compress a block") }
        (header.storedBytes, header.checksum) = (UInt32(clamping: frame.count), CRC.of(frame[...]))
        let block = header.bytes + frame
        if let open, open.bytes + block.count > retention.segmentBytes || now - open.since >= retention.segmentTime || now < open.since { try seal() }
        try drop(more: block.count + IndexEntry.length, now)
        let before = if let open { open } else { try begin(now) }
        do throws(TapeError) {
            let entry = IndexEntry(offset: UInt64(before.bytes), header: header).bytes
            try before.file.append(block)
            try before.index.append(entry)
            self.open?.bytes += block.count
            self.open?.indexBytes += entry.count
            self.open?.isSynced = false
        } catch {
            // An incomplete write is truncated; if that fails too, readers skip it.
            try? before.file.truncate(to: before.bytes)
            try? before.index.truncate(to: before.indexBytes)
            throw error
        }
        self.open?.lastAt = max(before.lastAt ?? header.lastAt, header.lastAt)
        lastAt = max(lastAt, header.lastAt)
        state.blocks &+= 1
        state.records &+= UInt64(header.records)
        state.plainBytes &+= UInt64(text.count)
        state.storedBytes &+= UInt64(block.count)
        measure()
    }

    private func begin(_ now: Int64) throws(TapeError) -> Open {
        let name = TapeReader.segmentName(nextNumber)
        let (file, index) = (try storage.open(name), try storage.open(TapeReader.indexName(nextNumber)))
        nextNumber += 1
        let open = Open(name: name, file: file, index: index, since: now)
        self.open = open
        return open
    }

    /// Ends the segment that is being written.
    private func seal() throws(TapeError) {
        guard let open else { return }
        segments.append(Retention.Segment(name: open.name, bytes: open.bytes + open.indexBytes, lastAt: open.lastAt))
        self.open = nil
        try open.file.sync()
    }

    private func drop(more: Int, _ now: Int64) throws(TapeError) {
        let others = gapBytes + (open.map { $0.bytes + $0.indexBytes } ?? 0)
        for segment in segments.prefix(retention.surplus(segments, besides: others, more: more, now: now)) {
            try storage.remove(TapeReader.indexName(ofSegment: segment.name))
            try storage.remove(segment.name)
            segments.removeFirst()
            state.dropped &+= 1
        }
    }

    /// Performs due work after all records were processed.
    package func rest(now: Int64) {
        checkFiles(now)
        if mayWrite(now) { flush(now: now) }
        sync(now: now)
        dropOld(now: now)
    }

    /// Drops segments that are too old, even if nothing is written.
    func dropOld(now: Int64) {
        do throws(TapeError) {
            if let open, now - open.since >= retention.segmentTime { try seal() }
            try drop(more: 0, now)
        } catch { note(trouble: error, now) }
        measure()
    }

    /// Reports files that were removed while they were being written. Later blocks go to a new segment, if the directory still exists.
    private func checkFiles(_ now: Int64) {
        guard let open, open.file.isRemoved || open.index.isRemoved else { return }
        fail(TapeError(.failed, "\(open.name) or its index was removed while it was being written"), nil, now)
    }

    /// Makes the disk keep the written bytes.
    func sync(now: Int64) {
        guard let open, !open.isSynced else { return }
        do throws(TapeError) {
            try open.file.sync()
            self.open?.isSynced = true
            state.syncedAt = lastAt
        } catch { fail(error, nil, now) }
    }

    /// Writes and syncs everything, and marks an orderly end. Nothing is accepted after it.
    package func finish(now: Int64) {
        if let position = text.position, !text.isBroken, state.trouble == nil {
            let end = FeedRecord(.resigned, of: "-", [UInt8(ascii: "-")])
            text.add(TapedRecord(end, id: EventID(epoch: position.epoch, sequence: position.next - 1), at: max(now, lastAt)))
        }
        flush(now: now)
        do throws(TapeError) { try seal() } catch { note(trouble: error, now) }
    }
}

/// Gaps of the recording.
extension TapeRecorder {
    /// Handles a failed disk. The block is lost, and the next attempt waits.
    private func fail(_ error: TapeError, _ header: BlockHeader?, _ now: Int64) {
        note(trouble: error, now)
        pause.begin(at: now)
        if let open {
            self.open = nil
            if open.bytes > 0 {
                segments.append(Retention.Segment(name: open.name, bytes: open.bytes + open.indexBytes, lastAt: open.lastAt))
            } else {
                // Each attempt would leave another empty segment.
                try? storage.remove(TapeReader.indexName(ofSegment: open.name))
                try? storage.remove(open.name)
            }
        }
        let from = lastAt > 0 ? lastAt : header?.firstAt ?? now
        let lost = UInt64(header?.records ?? 0)
        note(TapeGap(from: from, to: header?.lastAt ?? now, reason: error.reason, events: lost, detail: error.message))
    }

    private func note(trouble error: TapeError, _ now: Int64) {
        state.troubleSince = state.troubleSince ?? now
        state.trouble = error
    }

    private func miss(_ taped: TapedRecord, _ reason: TapeGap.Reason = .failed, _ detail: String = "") {
        note(
            TapeGap(
                from: gap?.from ?? (lastAt > 0 ? lastAt : taped.at), to: taped.at, reason: state.trouble?.reason ?? reason, events: 1,
                detail: state.trouble?.message ?? detail))
    }

    /// Combines gaps without a record between them; the result has the first one's reason.
    private func note(_ new: TapeGap) {
        text.breakOff()
        state.missed &+= new.events ?? 0
        gap = gap?.extended(by: new) ?? new
    }

    private func end(_ gap: TapeGap, at time: Int64) {
        var gap = gap
        gap.to = max(gap.to, time)
        if gaps.count < Self.mostGaps { gaps.append(gap) }
        state.gaps &+= 1
        self.gap = nil
    }

    private func openGapLog() throws(TapeError) -> any TapeFile {
        if let gapLog { return gapLog }
        let file = try storage.open(TapeReader.gapLog)
        gapLog = file
        return file
    }

    private func writeGaps(_ now: Int64) {
        guard !gaps.isEmpty else { return }
        do throws(TapeError) {
            let (log, bytes) = (try openGapLog(), gaps.flatMap { $0.line + [UInt8(ascii: "\n")] })
            do throws(TapeError) { try log.append(bytes) } catch {
                try? log.truncate(to: gapBytes)
                throw error
            }
            gapBytes += bytes.count
            gaps = []
            try log.sync()
        } catch { note(trouble: error, now) }
    }

    private func measure() {
        state.bytes = segments.reduce(gapBytes + (open.map { $0.bytes + $0.indexBytes } ?? 0)) { $0 + $1.bytes }
        state.segments = segments.count + (open == nil ? 0 : 1)
        state.newestAt = lastAt
    }
}

/// The counts and the state of a tape.
package struct TapeReading: Sendable, Equatable {
    /// Why nothing is recorded, and since when, ms since 1970 UTC; nil while it records.
    package var trouble: TapeError?
    package var troubleSince: Int64?
    /// The size of all files, and the number of segments.
    package var bytes = 0
    package var segments = 0
    /// Since the start: blocks and records written, bytes before and after compression, segments dropped, gaps, and records in them.
    package var blocks: UInt64 = 0
    package var records: UInt64 = 0
    package var plainBytes: UInt64 = 0
    package var storedBytes: UInt64 = 0
    package var dropped: UInt64 = 0
    package var gaps: UInt64 = 0
    package var missed: UInt64 = 0
    /// When the newest record on the tape was received, and the newest one that survives a power loss, ms since 1970 UTC; 0 if there is none.
    package var newestAt: Int64 = 0
    package var syncedAt: Int64 = 0
    /// Bytes waiting to be written, and for how long the disk has been busy, ms.
    package var waitingBytes = 0
    package var busyMs: Int64 = 0

    package init() {}
}
