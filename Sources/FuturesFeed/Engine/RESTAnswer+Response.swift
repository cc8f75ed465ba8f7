import FeedDialects
import NIOCore

extension RESTAnswer {
    init(_ response: RESTResponse) {
        self.init(status: response.status, retryAfter: response.retryAfter, body: Array(response.body.readableBytesView))
    }
}
