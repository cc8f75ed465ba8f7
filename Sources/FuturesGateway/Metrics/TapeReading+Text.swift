import Tape

extension TapeReading {
    /// Writes the metrics of the tape.
    func write(_ text: inout Exposition) {
        text.metric("futures_gateway_tape_recording", .gauge, "1 while events are recorded, 0 while the disk fails.", trouble == nil ? 1 : 0)
        text.metric("futures_gateway_tape_bytes", .gauge, "Bytes of all files of the tape.", bytes)
        text.metric("futures_gateway_tape_segments", .gauge, "Files that hold events.", segments)
        text.metric("futures_gateway_tape_newest_timestamp_seconds", .gauge, "When the newest recorded event was received.", Double(newestAt) / 1000)
        text.metric(
            "futures_gateway_tape_synced_timestamp_seconds", .gauge, "When the newest event was received that outlives a loss of power.",
            Double(syncedAt) / 1000)
        text.metric("futures_gateway_tape_waiting_bytes", .gauge, "Bytes of records that wait to be written, about.", waitingBytes)
        text.metric("futures_gateway_tape_busy_seconds", .gauge, "For how long the disk has been at one piece of work.", Double(busyMs) / 1000)
        text.metric("futures_gateway_tape_records_total", .counter, "Records written.", records)
        text.metric("futures_gateway_tape_blocks_total", .counter, "Blocks written.", blocks)
        text.metric("futures_gateway_tape_plain_bytes_total", .counter, "Bytes of these before compression.", plainBytes)
        text.metric("futures_gateway_tape_stored_bytes_total", .counter, "Bytes of these on disk.", storedBytes)
        text.metric("futures_gateway_tape_dropped_segments_total", .counter, "Files dropped because they were too old or too many.", dropped)
        text.metric("futures_gateway_tape_gaps_total", .counter, "Gaps: times in which something was not recorded.", gaps)
        text.metric("futures_gateway_tape_missed_records_total", .counter, "Records that fell into them, as far as that is known.", missed)
    }
}

extension FrameTapeReading {
    /// Writes the metrics of the recorded raw messages.
    func write(_ text: inout Exposition) {
        text.metric(
            "futures_gateway_tape_frames_recording", .gauge, "1 while the venue's messages are recorded, 0 while the disk fails.",
            trouble == nil ? 1 : 0)
        text.metric("futures_gateway_tape_frames_bytes", .gauge, "Bytes of all files of the venue's messages.", bytes)
        text.metric("futures_gateway_tape_frames_waiting_bytes", .gauge, "Bytes of messages that wait to be written.", waitingBytes)
        text.metric("futures_gateway_tape_frames_total", .counter, "Messages of the venue that were taken.", messages)
        text.metric("futures_gateway_tape_frames_missed_total", .counter, "Messages of these that were not recorded.", missed)
    }
}
