/// Records a venue's messages unchanged.
package protocol FrameRecorder: Sendable {
    /// Records a text message, or the REST answer from which a book starts. Called on the feed's thread; it does not block.
    ///
    /// - Parameters:
    ///   - subject: The symbol of a REST answer, in lower case; nil for a message, which names its stream itself.
    ///   - line: The connection's line, from 0.
    ///   - nanoseconds: When it was received, since 1970 UTC.
    func record(_ bytes: UnsafeBufferPointer<UInt8>, of subject: String?, line: Int, at nanoseconds: Int64)
}
