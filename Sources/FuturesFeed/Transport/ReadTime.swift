import FeedCore
import NIOCore

/// Notes when the socket was last read: the first handler of a pipeline, so that neither TLS nor the messages that came in the same read before make a
/// message look younger. Lives on its event loop.
final class ReadTime: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var latest = Moment.current.instant

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        latest = Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
        context.fireChannelRead(data)
    }
}
