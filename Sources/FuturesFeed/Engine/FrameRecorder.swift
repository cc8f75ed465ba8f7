/// Takes what a venue says, as it says it.
package protocol FrameRecorder: Sendable {
    /// A text message, or the REST answer that a book begins with. Called on the feed's thread; it does not wait.
    ///
    /// - Parameters:
    ///   - subject: the symbol that an answer is of, lower case; nil for a message, which names its stream itself.
    ///   - line: the connection's line, from 0.
    ///   - nanoseconds: when it was received, since 1970 UTC.
    func record(_ bytes: UnsafeBufferPointer<UInt8>, of subject: String?, line: Int, at nanoseconds: Int64)
}
