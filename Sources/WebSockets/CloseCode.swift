/// The codes of close frames (RFC 6455 §7.4).
package enum CloseCode {
    package static let normal: UInt16 = 1000
    package static let goingAway: UInt16 = 1001
    package static let protocolError: UInt16 = 1002
    package static let unsupportedData: UInt16 = 1003
    package static let invalidPayload: UInt16 = 1007
    package static let policyViolation: UInt16 = 1008
    package static let messageTooBig: UInt16 = 1009
    package static let serviceRestart: UInt16 = 1012
    package static let tryAgainLater: UInt16 = 1013

    /// Whether a close frame may carry this code: those defined in §7.4.1 or registered since (1012 to 1014), and the ranges of §7.4.2 for libraries
    /// and applications. Never 1004, 1005, 1006 and 1015.
    package static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
