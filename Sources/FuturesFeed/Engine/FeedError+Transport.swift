import FeedCore

extension FeedError {
    init(transport error: any Error) {
        guard let error = error as? TransportError else {
            self.init(.unreachable, "The request to the venue failed: \(plainWords(error)).")
            return
        }
        switch error.code {
        case .timedOut: self.init(.timedOut, error.message)
        case .bodyTooLarge: self.init(.malformed, error.message)
        default: self.init(.unreachable, error.message)
        }
    }
}
