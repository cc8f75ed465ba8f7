import CMicroHTTPD
import Glibc

// Named functions, because a closure literal may inherit an actor's isolation and trap on libmicrohttpd's thread.

extension HTTPServer {
    /// The daemon's options; `context` is a retained server.
    static func options(_ context: UnsafeMutableRawPointer, _ configuration: HTTPServerConfiguration, socket: Int32, limit: Int) -> cmhd_options {
        let workers = min(max(configuration.workerThreads, 1), 64)
        return cmhd_options(
            listening_socket: socket,
            worker_threads: UInt32(workers),
            // libmicrohttpd divides its limit among its threads, whose loads differ, and lets clients beyond it wait. Our own limit must therefore
            // apply first.
            connection_limit: UInt32(clamping: limit * workers),
            inactivity_timeout_seconds: UInt32(clamping: max(2, configuration.keepAliveIdle.components.seconds)),
            connection_memory: connectionMemory,
            is_encrypted: configuration.identity != nil,
            context: context,
            accept: acceptConnection,
            request_line: requestLineArrived,
            unescape: leaveEscaped,
            handle: handleAccess,
            completed: requestCompleted,
            connection_changed: connectionChanged)
    }
}

private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer? {
    context.map { Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
}

private func acceptConnection(_ context: UnsafeMutableRawPointer?, _: UnsafePointer<sockaddr>?, _: socklen_t) -> MHD_Result {
    server(context)?.acceptsConnections == true ? .YES : .NO
}

private func connectionChanged(
    _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?, _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ change: MHD_ConnectionNotificationCode
) {
    guard let server = server(context), let pointer, let slot else { return }
    let connection = MHDConnection(pointer: pointer)
    if change == .CONNECTION_NOTIFY_STARTED {
        slot.pointee = UnsafeMutableRawPointer(bitPattern: server.connections.connected(connection.descriptor) + 1)
        cmhd_set_identity(pointer, server.identity.slot)
    } else if let known = slot.pointee {
        server.connections.disconnected(Int(bitPattern: known) - 1)
        slot.pointee = nil
    }
}

private func requestLineArrived(
    _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ pointer: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let server = server(context), let target, let pointer, let slot = MHDConnection(pointer: pointer).slot else { return nil }
    server.connections.requestLineArrived(slot)
    let bytes = Array(UnsafeRawBufferPointer(start: target, count: strlen(target)))
    // We parse the query ourselves, because libmicrohttpd would continue to read after its own 431 if the arguments exceed the connection's memory.
    // It searches for them after the question mark, in its own buffer, when this call returns.
    if let mark = bytes.firstIndex(of: UInt8(ascii: "?")), mark + 1 < bytes.count { UnsafeMutablePointer(mutating: target)[mark + 1] = 0 }
    return Unmanaged.passRetained(Exchange(target: bytes, server: server)).toOpaque()
}

/// We decode ourselves: libmicrohttpd would cut at `%00` and turn `%2F` into a separator.
private func leaveEscaped(_: UnsafeMutableRawPointer?, _: OpaquePointer?, _ text: UnsafeMutablePointer<CChar>?) -> Int {
    text.map { strlen($0) } ?? 0
}

private func handleAccess(
    _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?, _ upload: UnsafePointer<CChar>?, _ uploadSize: UnsafeMutablePointer<Int>?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let server = server(context), let pointer, let url, let method, let version, let uploadSize, let known = request?.pointee else {
        return .NO
    }
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    let connection = MHDConnection(pointer: pointer)
    switch exchange.nextCall() {
    case .head:
        let unread = UnreadHead(connection: pointer, target: exchange.target, url: url, method: method, version: version)
        return server.headArrived(unread, exchange, connection)
    case .body where uploadSize.pointee > 0:
        let bytes = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
        uploadSize.pointee = 0
        return server.bodyContinued(bytes, exchange, connection)
    case .body:
        return server.requestArrived(exchange, connection)
    case .answer(let answer):
        return server.queue(answer, of: exchange, on: connection)
    case .none:
        return .NO
    }
}

private func requestCompleted(
    _ context: UnsafeMutableRawPointer?, _ pointer: OpaquePointer?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ code: MHD_RequestTerminationCode
) {
    guard let server = server(context), let pointer, let known = request?.pointee else { return }
    request?.pointee = nil
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue()
    exchange.completed()
    if exchange.wasAdmitted { server.inFlight.ended() }
    if code == .REQUEST_TERMINATED_COMPLETED_OK, let slot = MHDConnection(pointer: pointer).slot { server.connections.answered(slot) }
}
