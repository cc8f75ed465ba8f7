import FeedDialects
import NIOCore

extension Dialect {
    func decode<Answer>(_ response: RESTResponse, _ decode: (RESTAnswer) -> Answer) -> Answer {
        response.body.withUnsafeReadableBytes { bytes in
            decode(RESTAnswer(status: response.status, retryAfter: response.retryAfter, body: bytes.bindMemory(to: UInt8.self)))
        }
    }
}
