import FuturesFeed
import WebSockets

/// The client of a socket as the fan-out thread sees it: the frames that it sends, and whether it answers.
final class SocketPeer {
    // In this order the fields need the least memory.
    var frames: ClientFrames
    /// The code with which the client's violation closes the socket.
    var violation: UInt16?
    /// When the last ping was sent, and when the last pong arrived, monotonic nanoseconds.
    var pingedAt: Int64
    var answeredAt: Int64
    /// When its last messages arrived, oldest first, monotonic nanoseconds.
    private var arrivals: [Int64] = []

    init(_ limits: SocketLimits, now: Int64) {
        frames = ClientFrames(maximumMessageBytes: limits.messageBytes)
        (pingedAt, answeredAt) = (now, now)
    }

    /// Counts a message; false if it is one too many within a second.
    func mayReceive(_ limit: Int, now: Int64) -> Bool {
        arrivals.removeAll { now &- $0 >= 1_000_000_000 }
        guard arrivals.count < limit else { return false }
        arrivals.append(now)
        return true
    }

    /// The last frames of a socket, for the code of an event stream's farewell.
    func farewell(_ code: String, _ reason: String) -> [UInt8] {
        switch code {
        case "draining": Self.shutdown + ServerFrame.close(CloseCode.goingAway, reason)
        case "slow", "expired", "revoked", "limit": ServerFrame.close(CloseCode.policyViolation, reason)
        case "lost", "reset": Self.shutdown + ServerFrame.close(CloseCode.serviceRestart, reason)
        case "stale": Self.shutdown + ServerFrame.close(CloseCode.tryAgainLater, reason)
        case "violation": ServerFrame.close(violation, reason)
        default: ServerFrame.close(CloseCode.normal, reason)
        }
    }

    /// The venue's notice that it will close the connection. Of the known clients only its own library reads it, and reconnects for nothing else. As an
    /// answer without a result it is one of the messages that the others skip: unicorn-binance-local-depth-cache fails on any other one.
    private static var shutdown: [UInt8] {
        ServerFrame.text(Array(#"{"event":{"e":"serverShutdown","E":\#(Moment.current.wallClock)},"result":null}"#.utf8))
    }
}
