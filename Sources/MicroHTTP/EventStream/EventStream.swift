public import Glibc

/// A handle to one open stream: slot and generation, so that a handle kept too long names nothing instead of another client.
///
/// All methods belong to the loop's thread, inside a call of its ``EventStreamWriter``. None of them allocates, locks or counts references.
///
/// Sendable: the table it points to lives as long as its loop, and is used on the loop's thread only.
public struct EventStream: @unchecked Sendable, Hashable {
    private let table: UnsafeMutablePointer<StreamTable>
    private let index: Int32
    private let generation: UInt32

    init(table: UnsafeMutablePointer<StreamTable>, index: Int32, generation: UInt32) {
        self.table = table
        self.index = index
        self.generation = generation
    }

    /// Small dense index, reused once this stream has ended.
    public var slot: Int { Int(index) }

    /// Sends bytes to the client now.
    /// - Returns: bytes taken by the kernel; less than offered, down to 0, means that `streamDidBecomeWritable` follows; -1 that the stream is gone
    ///   (`streamDidClose` follows, unless it has ended already).
    public func write(_ vectors: UnsafeBufferPointer<iovec>) -> Int {
        guard let entry, !entry.pointee.isDoomed else { return -1 }
        if let pipe = entry.pointee.pipe { return pipe._withUnsafeGuaranteedRef { $0.write(vectors) } }
        var total = 0
        var start = 0
        while start < vectors.count {
            let count = min(vectors.count - start, Self.vectorsPerCall)
            var message = msghdr()
            message.msg_iov = UnsafeMutablePointer(mutating: vectors.baseAddress)?.advanced(by: start)
            message.msg_iovlen = count
            var offered = 0
            for index in start..<(start + count) { offered &+= vectors[index].iov_len }
            let sent = sendmsg(entry.pointee.descriptor, &message, neverWaiting)
            if sent < 0 {
                if errno == EINTR { continue }
                guard errno == EAGAIN else {
                    fail()
                    return -1
                }
            }
            total &+= max(sent, 0)
            if sent < offered {
                entry.pointee.awaitsWritable = true
                break
            }
            start += count
        }
        return total
    }

    /// Ends the body in order, after what was written. `streamDidClose` is not called. Nothing happens to a stream that has ended.
    public func finish() {
        guard let entry else { return }
        table.pointee.end(index, entry, .orderly)
    }

    /// Cuts the connection with a reset, for a stream with half an event on the wire or a client that is not worth its buffers.
    /// `streamDidClose` is not called. Nothing happens to a stream that has ended.
    public func abort() {
        guard let entry else { return }
        table.pointee.end(index, entry, .cut)
    }

    /// Cuts the connection as soon as the writer has returned, as after a write that failed: `streamDidClose` follows, and the slot is not reused
    /// before. Nothing happens to a stream that has ended.
    public func fail() {
        guard let entry, !entry.pointee.isDoomed else { return }
        entry.pointee.isDoomed = true
        table.pointee.doomed.append(self)
    }

    /// The table's entry while the stream is open.
    var entry: UnsafeMutablePointer<StreamTable.Entry>? {
        let entry = table.pointee.entries + Int(index)
        return entry.pointee.generation == generation && entry.pointee.isOpen ? entry : nil
    }

    /// UIO_MAXIOV of the kernel.
    private static let vectorsPerCall = 1024
}
