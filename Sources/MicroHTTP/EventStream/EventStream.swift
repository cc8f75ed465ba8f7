public import Glibc

/// A handle to one open stream: a slot and its generation. A handle that is used after its stream has ended therefore has no effect, rather than
/// affecting another client.
///
/// Call all methods inside a call of the loop's ``EventStreamWriter``. ``write(_:)`` neither locks nor counts references.
///
/// Sendable: the table it points to lives as long as its loop, and is used only in the loop's turn.
public struct EventStream: @unchecked Sendable, Hashable {
    private let table: UnsafeMutablePointer<StreamTable>
    private let index: Int32
    private let generation: UInt32

    init(table: UnsafeMutablePointer<StreamTable>, index: Int32, generation: UInt32) {
        self.table = table
        self.index = index
        self.generation = generation
    }

    /// A small index, which another stream gets after this one has ended.
    public var slot: Int { Int(index) }

    /// Sends as many bytes to the client as the kernel accepts now.
    ///
    /// - Returns: The number of accepted bytes. If it is less than offered, `streamDidBecomeWritable` follows. -1 if the stream is gone; then
    ///   `streamDidClose` follows, unless the writer has ended the stream.
    public func write(_ vectors: UnsafeBufferPointer<iovec>) -> Int {
        guard let entry, !entry.pointee.isDoomed else { return -1 }
        if let sealer = entry.pointee.sealer { return write(vectors, sealer, entry) }
        var total = 0
        var start = 0
        while start < vectors.count {
            let count = min(vectors.count - start, Self.vectorsPerCall)
            var offered = 0
            for index in start..<(start + count) { offered &+= vectors[index].iov_len }
            let sent: Int
            if count == 1 {
                // `send` gives the kernel less to read and to check than `sendmsg`.
                sent = send(entry.pointee.descriptor, vectors[start].iov_base, offered, neverWaiting)
            } else {
                var message = msghdr()
                message.msg_iov = UnsafeMutablePointer(mutating: vectors.baseAddress)?.advanced(by: start)
                message.msg_iovlen = count
                sent = sendmsg(entry.pointee.descriptor, &message, neverWaiting)
            }
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

    private func write(
        _ vectors: UnsafeBufferPointer<iovec>, _ sealer: Unmanaged<RecordSealer>, _ entry: UnsafeMutablePointer<StreamTable.Entry>
    ) -> Int {
        let (descriptor, sealing) = (entry.pointee.descriptor, table.pointee.sealing)
        guard let taken = sealer._withUnsafeGuaranteedRef({ $0.write(vectors, to: descriptor, sealing) }) else {
            fail()
            return -1
        }
        var offered = 0
        for vector in vectors { offered &+= vector.iov_len }
        if taken < offered { entry.pointee.awaitsWritable = true }
        return taken
    }

    /// Ends the body after the bytes that were written. `streamDidClose` is not called. Does nothing if the stream has ended.
    public func finish() {
        guard let entry else { return }
        table.pointee.end(index, entry, .orderly)
    }

    /// Resets the connection, which frees the kernel's buffers for the client. `streamDidClose` is not called. Does nothing if the stream has ended.
    public func abort() {
        guard let entry else { return }
        table.pointee.end(index, entry, .cut)
    }

    /// Cuts the connection after the writer has returned, as if a write had failed. `streamDidClose` follows; the slot is not reused before that.
    /// Does nothing if the stream has ended.
    public func fail() {
        guard let entry, !entry.pointee.isDoomed else { return }
        entry.pointee.isDoomed = true
        table.pointee.doomed.append(self)
    }

    /// The table's entry while the stream is open.
    var entry: UnsafeMutablePointer<StreamTable.Entry>? { held.flatMap { $0.pointee.isOpen ? $0 : nil } }

    /// The table's entry until its socket is closed.
    var held: UnsafeMutablePointer<StreamTable.Entry>? {
        let entry = table.pointee.entries + Int(index)
        return entry.pointee.generation == generation && entry.pointee.owner != nil ? entry : nil
    }

    /// Whether the stream's key may encrypt nothing more except the end.
    var keyIsSpent: Bool { entry?.pointee.sealer?._withUnsafeGuaranteedRef(\.isSpent) ?? false }
}
