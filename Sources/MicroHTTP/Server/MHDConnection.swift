import CMicroHTTPD

/// A libmicrohttpd connection.
///
/// Sendable: any thread may resume a suspended connection; everything else is called only from the connection's own callbacks.
struct MHDConnection: @unchecked Sendable {
    let pointer: OpaquePointer

    var descriptor: Int32 { cmhd_socket(pointer) }

    /// The table slot that NOTIFY_CONNECTION stored.
    var slot: Int? {
        cmhd_connection_context(pointer).map { Int(bitPattern: $0) - 1 }
    }

    /// The request's `Origin` field.
    var origin: String? {
        MHD_lookup_connection_value(pointer, .HEADER_KIND, "Origin").map { String(cString: $0) }
    }

    func suspend() {
        MHD_suspend_connection(pointer)
    }

    func resume() {
        MHD_resume_connection(pointer)
    }
}
