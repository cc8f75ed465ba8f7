#pragma once
#include <errno.h>
#include <microhttpd.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/types.h>

/// Names the calling thread; `prctl` is variadic and `pthread_setname_np` needs a feature macro.
static inline void cmhd_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/// The cast macros of `microhttpd.h` that Swift cannot import.
static const uint64_t cmhd_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t cmhd_end_of_stream = -1;
static const ssize_t cmhd_end_with_error = -2;

/// Everything that `MHD_start_daemon` takes as variadic options, typed so that the C compiler checks it.
struct cmhd_options {
    int listening_socket;
    unsigned int worker_threads;
    unsigned int connection_limit;
    unsigned int inactivity_timeout_seconds;
    size_t connection_memory;
    void *context;
    MHD_AcceptPolicyCallback accept;
    void *(*request_line)(void *context, const char *target, struct MHD_Connection *connection);
    size_t (*unescape)(void *context, struct MHD_Connection *connection, char *text);
    MHD_AccessHandlerCallback handle;
    MHD_RequestCompletedCallback completed;
    MHD_NotifyConnectionCallback connection_changed;
};

/// Fixed-argument front of the variadic `MHD_start_daemon`. Null with `errno` set when it fails.
static inline struct MHD_Daemon *cmhd_start(const struct cmhd_options *o) {
    struct MHD_OptionItem pool[] = {
        {o->worker_threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)o->worker_threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    errno = 0;
    return MHD_start_daemon(
        // Turbo: new sockets are read at once, and a closed one is not shut down, so that a duplicate of it lives on.
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO, 0,
        o->accept, o->context, o->handle, o->context,
        MHD_OPTION_LISTEN_SOCKET, o->listening_socket,
        MHD_OPTION_CONNECTION_LIMIT, o->connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, o->inactivity_timeout_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->connection_memory,
        MHD_OPTION_URI_LOG_CALLBACK, o->request_line, o->context,
        MHD_OPTION_UNESCAPE_CALLBACK, o->unescape, o->context,
        MHD_OPTION_NOTIFY_COMPLETED, o->completed, o->context,
        MHD_OPTION_NOTIFY_CONNECTION, o->connection_changed, o->context,
        MHD_OPTION_ARRAY, pool,
        MHD_OPTION_END);
}

/// The connection's socket, or -1. `MHD_get_connection_info` is variadic.
static inline int cmhd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// The client's address, or null.
static inline const struct sockaddr *cmhd_client(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

/// Bytes of the request head from the method to the empty line inclusive, or 0 before it is complete.
static inline size_t cmhd_head_size(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/// What NOTIFY_CONNECTION left for this connection, or null.
static inline void *cmhd_connection_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/// Makes libmicrohttpd look at the connection in its next pass, at the latest after a second. It would not otherwise notice that the content reader
/// has ended the response, and would keep the descriptor until the client leaves.
static inline void cmhd_release_soon(struct MHD_Connection *connection) {
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 1u);
}

/// Marks a body that ends with the connection: no chunks, status line still HTTP/1.1, `Connection: close`.
static inline enum MHD_Result cmhd_end_with_connection(struct MHD_Response *response) {
    return MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}
