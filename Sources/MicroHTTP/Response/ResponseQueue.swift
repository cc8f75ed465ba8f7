import CMicroHTTPD
import Glibc

extension HTTPResponse {
    /// Passes the response to libmicrohttpd. `.NO` makes it drop the connection.
    func queue(on connection: MHDConnection, adding common: [HTTPHeader], closing: Bool) -> MHD_Result {
        guard (200...599).contains(status) else { return HTTPProblem.internalError.response.queue(on: connection, adding: common, closing: closing) }
        guard let response = made(adding: common, closing: closing) else {
            let isOwnFallback = status == 500 && headers.isEmpty
            return isOwnFallback ? .NO : HTTPResponse(status: 500).queue(on: connection, adding: [], closing: true)
        }
        defer { MHD_destroy_response(response) }
        return MHD_queue_response(connection.pointer, UInt32(status), response)
    }

    /// The response in libmicrohttpd's form; the caller destroys it. Nil if a header cannot be sent or memory is short.
    /// - Parameter isSentOften: Whether to avoid copying a large body for each client.
    func made(adding common: [HTTPHeader], closing: Bool = false, isSentOften: Bool = false) -> OpaquePointer? {
        guard let response = isSentOften ? content.sharedResponse() : content.response() else { return nil }
        guard addHeaders(to: response, headers, common, closing: closing) else {
            MHD_destroy_response(response)
            return nil
        }
        return response
    }

    /// The response as bytes, for a connection on which libmicrohttpd will not respond.
    func wireBytes(adding common: [HTTPHeader]) -> [UInt8] {
        let phrase = MHD_get_reason_phrase_for(UInt32(clamping: status)).map { String(cString: $0) } ?? ""
        var lines = ["HTTP/1.1 \(status) \(phrase)", "Date: \(currentDate())", "Connection: close", "Content-Length: \(content.count)"]
        for header in headers + common.missing(in: headers) { lines.append("\(header.name): \(header.value)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }
}

extension SharedBytes {
    /// A libmicrohttpd response with this body and no fields yet; nil if memory is short.
    fileprivate func response() -> OpaquePointer? {
        let body = Unmanaged.passRetained(self)
        let start = UnsafeMutableRawPointer(mutating: buffer.baseAddress)
        if let response = MHD_create_response_from_buffer_with_free_callback_cls(count, start, releaseContent, body.toOpaque()) { return response }
        body.release()
        return nil
    }

    /// The same with a large body from a file, which the kernel sends without copying it.
    fileprivate func sharedResponse() -> OpaquePointer? {
        guard count >= 32 << 10, let file = openFile() else { return response() }
        if let response = MHD_create_response_from_fd(count, file) { return response }
        close(file)
        return nil
    }
}

extension StreamHandover {
    /// Passes the head to libmicrohttpd, which calls the content reader when the kernel has accepted it.
    func queue(on connection: MHDConnection, headers: [HTTPHeader], adding common: [HTTPHeader]) -> MHD_Result {
        let handover = Unmanaged.passRetained(self)
        // The reader returns no bytes, so the smallest buffer suffices.
        guard let response = MHD_create_response_from_callback(cmhd_size_unknown, 1, readStream, handover.toOpaque(), releaseStream) else {
            handover.release()
            return .NO
        }
        defer { MHD_destroy_response(response) }
        guard cmhd_end_with_connection(response) == .YES, addHeaders(to: response, headers, common, closing: true) else { return .NO }
        return MHD_queue_response(connection.pointer, 200, response)
    }
}

extension StreamHandover {
    /// Passes the change of protocol to libmicrohttpd, which hands the connection over when the kernel has accepted the head.
    func queue(on connection: MHDConnection, accepting key: String) -> MHD_Result {
        guard let response = MHD_create_response_for_upgrade(takeSocket, Unmanaged.passUnretained(self).toOpaque()) else { return .NO }
        defer { MHD_destroy_response(response) }
        guard MHD_add_response_header(response, "Upgrade", "websocket") == .YES,
            MHD_add_response_header(response, "Sec-WebSocket-Accept", key) == .YES
        else { return .NO }
        return MHD_queue_response(connection.pointer, 101, response)
    }
}

extension [HTTPHeader] {
    /// The common fields that `own` does not override; `Vary` is combined.
    fileprivate func missing(in own: [HTTPHeader]) -> [HTTPHeader] {
        filter { common in common.name == "Vary" || !own.contains { $0.name.equalsIgnoringCase(common.name) } }
    }
}

/// The current date in the preferred form of RFC 9110 §5.6.7.
private func currentDate() -> String {
    var now = time(nil)
    var parts = tm()
    guard gmtime_r(&now, &parts) != nil else { return "" }
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    guard days.indices.contains(Int(parts.tm_wday)), months.indices.contains(Int(parts.tm_mon)) else { return "" }
    let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(Int(parts.tm_year) + 1900)"
    return "\(days[Int(parts.tm_wday)]), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}

private func addHeaders(to response: OpaquePointer, _ own: [HTTPHeader], _ common: [HTTPHeader], closing: Bool) -> Bool {
    for header in own + common.missing(in: own) {
        guard MHD_add_response_header(response, header.name, header.value) == .YES else { return false }
    }
    return !closing || MHD_add_response_header(response, "Connection", "close") == .YES
}

private func releaseContent(_ context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<SharedBytes>.fromOpaque(context).release() }
}

private func readStream(_ context: UnsafeMutableRawPointer?, _: UInt64, _: UnsafeMutablePointer<CChar>?, _: Int) -> Int {
    context.map { Unmanaged<StreamHandover>.fromOpaque($0).takeUnretainedValue().headIsSent() } ?? cmhd_end_with_error
}

private func takeSocket(
    _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafeMutableRawPointer?, _ early: UnsafePointer<CChar>?, _ count: Int, _: Int32,
    _ handle: OpaquePointer?
) {
    guard let context, let handle else { return }
    let bytes = Array(UnsafeRawBufferPointer(start: early, count: early == nil ? 0 : count))
    _ = Unmanaged<StreamHandover>.fromOpaque(context).takeUnretainedValue().headIsSent(early: bytes)
    cmhd_leave(handle)
}

private func releaseStream(_ context: UnsafeMutableRawPointer?) {
    if let context { Unmanaged<StreamHandover>.fromOpaque(context).takeRetainedValue().released() }
}
