import Tape

extension TapeReading {
    /// Writes the metrics of the tape.
    func write(_ text: inout Exposition) {
        text.metric("futures_gateway_tape_recording", .gauge, "1 while events are recorded, 0 while the disk fails.", trouble == nil ? 1 : 0)
        text.metric("futures_gateway_tape_bytes", .gauge, "Bytes of all files of the tape.", bytes)
        text.metric("futures_gateway_tape_segments", .gauge, "Files that hold events.", segments)
        text.metric("futures_gateway_tape_newest_timestamp_seconds", .gauge, "Receipt time of the newest recorded event.", Double(newestAt) / 1000)
        text.metric(
            "futures_gateway_tape_synced_timestamp_seconds", .gauge, "Receipt time of the newest event that would survive a power loss.",
            Double(syncedAt) / 1000)
        text.metric("futures_gateway_tape_waiting_bytes", .gauge, "Approximate bytes of records waiting to be written.", waitingBytes)
        text.metric("futures_gateway_tape_busy_seconds", .gauge, "How long the disk has been busy with the current operation.", Double(busyMs) / 1000)
        text.metric("futures_gateway_tape_records_total", .counter, "Records written.", records)
        text.metric("futures_gateway_tape_blocks_total", .counter, "Blocks written.", blocks)
        text.metric("futures_gateway_tape_plain_bytes_total", .counter, "Bytes of these before compression.", plainBytes)
        text.metric("futures_gateway_tape_stored_bytes_total", .counter, "Bytes of these on disk.", storedBytes)
        text.metric("futures_gateway_tape_dropped_segments_total", .counter, "Files dropped because they were too old or too many.", dropped)
        text.metric("futures_gateway_tape_gaps_total", .counter, "Gaps: periods in which events were not recorded.", gaps)
        text.metric("futures_gateway_tape_missed_records_total", .counter, "Records in these gaps, as far as known.", missed)
    }
}

extension FrameTapeReading {
    /// Writes the metrics of the recorded raw messages.
    func write(_ text: inout Exposition) {
        text.metric(
            "futures_gateway_tape_frames_recording", .gauge, "1 while the venue's messages are recorded, 0 while the disk fails.",
            trouble == nil ? 1 : 0)
        text.metric("futures_gateway_tape_frames_bytes", .gauge, "Bytes of all files of the venue's messages.", bytes)
        text.metric("futures_gateway_tape_frames_waiting_bytes", .gauge, "Bytes of messages waiting to be written.", waitingBytes)
        text.metric("futures_gateway_tape_frames_total", .counter, "Messages of the venue accepted for recording.", messages)
        text.metric("futures_gateway_tape_frames_missed_total", .counter, "Accepted messages that were not recorded.", missed)
    }
}
