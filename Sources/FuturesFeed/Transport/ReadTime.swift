import FeedCore
import NIOCore

/// Records when the socket was last read. It is the first handler of a pipeline, so that neither TLS nor earlier messages of the same read make a
/// message look younger. Used on its event loop.
final class ReadTime: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var latest = Instant.current

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        latest = .current
        context.fireChannelRead(data)
    }
}
