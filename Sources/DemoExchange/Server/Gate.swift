import NIOCore

/// Sits between a socket and all other handlers, for faults that act on bytes: it holds bytes back, or cuts the connection after a number of them.
/// Used on the exchange's event loop.
final class Gate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let venue: Venue
    private var context: ChannelHandlerContext?
    /// Whether faults spare this connection; nil before its first bytes.
    private var isControl: Bool?
    private var bytesLeft: Int?
    private var held: [NIOAny] = []
    private var wantsRead = false

    init(venue: Venue) { self.venue = venue }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        venue.gates[ObjectIdentifier(self)] = self
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        venue.gates[ObjectIdentifier(self)] = nil
    }

    private var isShut: Bool { venue.faults.isBlackholed && isControl == false }

    /// Ends the connection with a TCP reset.
    func cut() {
        guard isControl != true, let context else { return }
        context.channel.reset()
    }

    /// Cuts the connection after `bytes` more outgoing bytes, in the middle of a frame or reply; nil cancels that.
    func cut(after bytes: Int?) {
        if isControl != true { bytesLeft = bytes }
    }

    /// Passes on the held bytes once the black hole has ended.
    func open() {
        guard let context, !isShut else { return }
        let parts = held
        held.removeAll()
        for part in parts { context.fireChannelRead(part) }
        if !parts.isEmpty { context.fireChannelReadComplete() }
        if wantsRead { context.read() }
        wantsRead = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isControl == nil {
            let bytes = Self.unwrapInboundIn(data).readableBytesView
            isControl = ["GET /control/", "POST /control/"].contains { bytes.starts(with: $0.utf8) }
            if isControl == false, venue.faults.refuses { return cut() }
        }
        if isShut { held.append(data) } else { context.fireChannelRead(data) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isShut { wantsRead = true } else { context.fireChannelReadComplete() }
    }

    func read(context: ChannelHandlerContext) {
        if isShut { wantsRead = true } else { context.read() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isShut else {
            promise?.succeed()
            return
        }
        guard let left = bytesLeft else { return context.write(data, promise: promise) }
        var bytes = Self.unwrapOutboundIn(data)
        guard bytes.readableBytes > left else {
            bytesLeft = left - bytes.readableBytes
            return context.write(data, promise: promise)
        }
        guard let part = bytes.readSlice(length: min(max(left, 1), bytes.readableBytes)) else { return }
        bytesLeft = nil
        context.writeAndFlush(Self.wrapOutboundOut(part), promise: promise)
        cut()
    }
}
