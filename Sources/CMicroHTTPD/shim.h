#pragma once
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/socket.h>
#include <malloc.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/// What is in use, in arenas and in mappings.
static inline size_t cmhd_allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// Names the calling thread; `prctl` is variadic and `pthread_setname_np` needs a feature macro.
static inline void cmhd_name_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/// A file in memory without a name, closed on exec, or -1; the declaration of `memfd_create` needs a feature macro, and `syscall` is variadic.
static inline int cmhd_anonymous_file(void) {
    return (int)syscall(SYS_memfd_create, "body", 1u);
}

/// The cast macros of `microhttpd.h` that Swift cannot import.
static const uint64_t cmhd_size_unknown = MHD_SIZE_UNKNOWN;
static const ssize_t cmhd_end_of_stream = -1;
static const ssize_t cmhd_end_with_error = -2;

/// A certificate chain with its key, ready for handshakes.
struct cmhd_identity {
    gnutls_pcert_st chain[16];
    unsigned int chain_length;
    gnutls_privkey_t key;
    /// The one before; handshakes may still be using it.
    struct cmhd_identity *previous;
};

/// The identity that a server shows at the time.
struct cmhd_identity_slot {
    void *current;
};

static inline void cmhd_identity_free(struct cmhd_identity *identity) {
    while (identity) {
        struct cmhd_identity *previous = identity->previous;
        for (unsigned int i = 0; i < identity->chain_length; i++) gnutls_pcert_deinit(&identity->chain[i]);
        if (identity->key) gnutls_privkey_deinit(identity->key);
        free(identity);
        identity = previous;
    }
}

/// Whether the key is the first certificate's.
static inline int cmhd_identity_matches(struct cmhd_identity *identity) {
    unsigned char certified[64], own[64];
    size_t certified_size = sizeof certified, own_size = sizeof own;
    gnutls_pubkey_t public_key;
    if (gnutls_pubkey_init(&public_key) < 0) return 0;
    int matches = gnutls_pubkey_import_privkey(public_key, identity->key, 0, 0) >= 0
        && gnutls_pubkey_get_key_id(public_key, 0, own, &own_size) >= 0
        && gnutls_pubkey_get_key_id(identity->chain[0].pubkey, 0, certified, &certified_size) >= 0
        && own_size == certified_size && memcmp(own, certified, own_size) == 0;
    gnutls_pubkey_deinit(public_key);
    return matches;
}

/// From PEM text. Null with a reason when it cannot be read.
static inline struct cmhd_identity *cmhd_identity_new(
    const void *chain, size_t chain_size, const void *key, size_t key_size, const char **reason
) {
    struct cmhd_identity *identity = calloc(1, sizeof *identity);
    if (!identity) return NULL;
    gnutls_datum_t text = {(unsigned char *)chain, (unsigned int)chain_size};
    unsigned int length = sizeof identity->chain / sizeof identity->chain[0];
    int result = gnutls_pcert_list_import_x509_raw(identity->chain, &length, &text, GNUTLS_X509_FMT_PEM, 0);
    *reason = "the certificate";
    if (result >= 0) {
        identity->chain_length = length;
        gnutls_datum_t secret = {(unsigned char *)key, (unsigned int)key_size};
        *reason = "the key";
        result = gnutls_privkey_init(&identity->key);
        if (result >= 0) result = gnutls_privkey_import_x509_raw(identity->key, &secret, GNUTLS_X509_FMT_PEM, NULL, 0);
        if (result >= 0 && !cmhd_identity_matches(identity)) {
            *reason = "the key, which is not the first certificate's";
            result = -1;
        }
    }
    if (result >= 0) return identity;
    cmhd_identity_free(identity);
    return NULL;
}

/// From now on handshakes show this identity. One thread at a time.
static inline void cmhd_identity_show(struct cmhd_identity_slot *slot, struct cmhd_identity *identity) {
    identity->previous = slot->current;
    __atomic_store_n(&slot->current, identity, __ATOMIC_RELEASE);
}

/// GnuTLS asks for the identity of a handshake whose session has its slot as user data.
static inline int cmhd_identity_retrieve(
    gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count, const gnutls_pk_algorithm_t *algorithms,
    int algorithm_count, gnutls_pcert_st **chain, unsigned int *chain_length, gnutls_privkey_t *key
) {
    struct cmhd_identity_slot *slot = gnutls_session_get_ptr(session);
    struct cmhd_identity *identity = slot ? __atomic_load_n(&slot->current, __ATOMIC_ACQUIRE) : NULL;
    if (!identity) return -1;
    *chain = identity->chain;
    *chain_length = identity->chain_length;
    *key = identity->key;
    return 0;
}

/// The connection's TLS session, or null. `MHD_get_connection_info` is variadic.
static inline gnutls_session_t cmhd_session(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    return info ? (gnutls_session_t)info->tls_session : NULL;
}

/// Has the connection's handshake show what the slot holds. libmicrohttpd's own user data of the session serves pre-shared keys only.
static inline void cmhd_set_identity(struct MHD_Connection *connection, struct cmhd_identity_slot *slot) {
    gnutls_session_t session = cmhd_session(connection);
    if (session) gnutls_session_set_ptr(session, slot);
}

/// Sends bytes beside libmicrohttpd, inside one of the connection's callbacks.
static inline void cmhd_send(struct MHD_Connection *connection, const void *bytes, size_t count) {
    gnutls_session_t session = cmhd_session(connection);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (session) gnutls_record_send(session, bytes, count);
    else if (info) send(info->connect_fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// The sending half of a TLS session that has left libmicrohttpd.
struct cmhd_half {
    gnutls_aead_cipher_hd_t cipher;
    /// The part of the nonces that the handshake made, and the number of the next record.
    uint8_t salt[12];
    uint64_t sequence;
    /// The most bytes that the client takes in one record.
    size_t record_limit;
    /// How many more bytes the key may encrypt.
    uint64_t room;
    bool is_tls13;
    /// Whether each record carries the second part of its nonce (RFC 5288, RFC 6655). If not, the sequence is mixed into the salt.
    bool has_explicit_nonce;
};

enum { cmhd_tag_size = 16, cmhd_application_data = 23, cmhd_alert = 21, cmhd_longest_record = 5 + 8 + 16384 + 1 + cmhd_tag_size };

static inline ssize_t cmhd_drop(gnutls_transport_ptr_t transport, const giovec_t *pieces, int count) {
    (void)transport;
    ssize_t size = 0;
    for (int i = 0; i < count; i++) size += pieces[i].iov_len;
    return size;
}

#if GNUTLS_VERSION_NUMBER >= 0x030703
/// Debian 12 has it (3.7.9). A library that is older than the headers may lack it, and then it has no kernel TLS either.
extern __attribute__((weak)) gnutls_transport_ktls_enable_flags_t gnutls_transport_is_ktls_enabled(gnutls_session_t session);

/// Whether the kernel encrypts what a session sends, or decrypts what it receives.
static inline bool cmhd_uses_kernel_tls(gnutls_session_t session) {
    return gnutls_transport_is_ktls_enabled != NULL && gnutls_transport_is_ktls_enabled(session) != 0;
}
#else
static inline bool cmhd_uses_kernel_tls(gnutls_session_t session) {
    (void)session;
    return false;
}
#endif

/// Takes the key, the salt and the sequence of one half out of a session: 0 for the sending half, 1 for the receiving one.
static inline bool cmhd_take_half(gnutls_session_t session, unsigned int is_receiving, struct cmhd_half *half) {
    gnutls_datum_t mac, salt, key;
    unsigned char sequence[8];
    gnutls_cipher_algorithm_t cipher = gnutls_cipher_get(session);
    gnutls_protocol_t version = gnutls_protocol_get_version(session);
    half->is_tls13 = version == GNUTLS_TLS1_3;
    half->has_explicit_nonce = !half->is_tls13 && cipher != GNUTLS_CIPHER_CHACHA20_POLY1305;
    if (version != GNUTLS_TLS1_3 && version != GNUTLS_TLS1_2) return false;
    if (gnutls_record_get_state(session, is_receiving, &mac, &salt, &key, sequence) < 0) return false;
    if (salt.size != (half->has_explicit_nonce ? 4 : 12) || gnutls_cipher_get_tag_size(cipher) != cmhd_tag_size) return false;
    memcpy(half->salt, salt.data, salt.size);
    half->sequence = 0;
    for (int i = 0; i < 8; i++) half->sequence = half->sequence << 8 | sequence[i];
    return gnutls_aead_cipher_init(&half->cipher, cipher, &key) >= 0;
}

/// Takes the sending half out of a session. What the session sends from now on is dropped. False if this half can send nothing.
static inline bool cmhd_take_sending_half(gnutls_session_t session, struct cmhd_half *half) {
    static const uint8_t blank[16384];
    // RFC 8446 §5.5: with AES, 2^24.5 records of full size; in less than half as many bytes. ChaCha20 has no such limit.
    half->room = gnutls_cipher_get(session) == GNUTLS_CIPHER_CHACHA20_POLY1305 ? UINT64_MAX : (uint64_t)1 << 37;
    if (!cmhd_take_half(session, 0, half)) return false;
    gnutls_transport_set_vec_push_function(session, cmhd_drop);
    // GnuTLS tells what the client takes in one record only by how much it sends in one. This one is dropped.
    ssize_t limit = gnutls_record_send(session, blank, sizeof blank);
    if (limit > 0) {
        half->record_limit = (size_t)limit;
        return true;
    }
    gnutls_aead_cipher_deinit(half->cipher);
    half->cipher = NULL;
    return false;
}

/// Writes `count` bytes as one record (RFC 8446 §5.2, RFC 5246 §6.2.3.3) and returns its size; 0 if the key may encrypt no more. `bytes` has room for
/// one byte more, which is written to.
static inline size_t cmhd_seal(struct cmhd_half *half, uint8_t type, uint8_t *bytes, size_t count, uint8_t *record) {
    // The end has to have room, too.
    if (count + (type == cmhd_alert ? 2 : 6) * cmhd_tag_size > half->room) return 0;
    uint8_t sequence[8], nonce[12], associated[13];
    for (int i = 0; i < 8; i++) sequence[i] = (uint8_t)(half->sequence >> (56 - 8 * i));
    memcpy(nonce, half->salt, sizeof nonce);
    if (half->has_explicit_nonce) memcpy(nonce + 4, sequence, 8);
    else for (int i = 0; i < 8; i++) nonce[4 + i] ^= sequence[i];
    if (half->is_tls13) bytes[count++] = type;
    size_t explicit_size = half->has_explicit_nonce ? 8 : 0, length = explicit_size + count + cmhd_tag_size;
    uint8_t head[5] = {half->is_tls13 ? cmhd_application_data : type, 3, 3, (uint8_t)(length >> 8), (uint8_t)length};
    memcpy(record, head, sizeof head);
    if (explicit_size) memcpy(record + sizeof head, sequence, explicit_size);
    if (!half->is_tls13) {
        memcpy(associated, sequence, 8);
        memcpy(associated + 8, head, 3);
        associated[11] = (uint8_t)(count >> 8);
        associated[12] = (uint8_t)count;
    }
    size_t sealed_size = count + cmhd_tag_size;
    if (gnutls_aead_cipher_encrypt(
            half->cipher, nonce, sizeof nonce, half->is_tls13 ? head : associated, half->is_tls13 ? sizeof head : sizeof associated,
            cmhd_tag_size, bytes, count, record + sizeof head + explicit_size, &sealed_size) < 0) return 0;
    half->sequence++;
    half->room -= count + cmhd_tag_size;
    return sizeof head + length;
}

/// Takes the receiving half out of a session.
static inline bool cmhd_take_receiving_half(gnutls_session_t session, struct cmhd_half *half) { return cmhd_take_half(session, 1, half); }

/// Opens one whole record. Returns the number of its bytes and sets their type, or -1 if the record is no record of the session. `bytes` has room for
/// `size` bytes.
static inline ssize_t cmhd_open(struct cmhd_half *half, const uint8_t *record, size_t size, uint8_t *bytes, uint8_t *type) {
    size_t explicit_size = half->has_explicit_nonce ? 8 : 0;
    if (size < 5 + explicit_size + cmhd_tag_size) return -1;
    uint8_t sequence[8], nonce[12], associated[13];
    for (int i = 0; i < 8; i++) sequence[i] = (uint8_t)(half->sequence >> (56 - 8 * i));
    memcpy(nonce, half->salt, sizeof nonce);
    if (half->has_explicit_nonce) memcpy(nonce + 4, record + 5, 8);
    else for (int i = 0; i < 8; i++) nonce[4 + i] ^= sequence[i];
    size_t length = size - 5 - explicit_size - cmhd_tag_size, opened = size;
    if (!half->is_tls13) {
        memcpy(associated, sequence, 8);
        memcpy(associated + 8, record, 3);
        associated[11] = (uint8_t)(length >> 8);
        associated[12] = (uint8_t)length;
    }
    if (gnutls_aead_cipher_decrypt(
            half->cipher, nonce, sizeof nonce, half->is_tls13 ? record : associated, half->is_tls13 ? 5 : sizeof associated, cmhd_tag_size,
            record + 5 + explicit_size, size - 5 - explicit_size, bytes, &opened) < 0) return -1;
    half->sequence++;
    *type = record[0];
    if (!half->is_tls13) return (ssize_t)opened;
    // The type follows the bytes, and zeros may follow it (RFC 8446 §5.4).
    while (opened > 0 && bytes[opened - 1] == 0) opened--;
    if (opened == 0) return -1;
    *type = bytes[opened - 1];
    return (ssize_t)opened - 1;
}

/// Everything that `MHD_start_daemon` takes as variadic options, typed so that the C compiler checks it.
struct cmhd_options {
    int listening_socket;
    unsigned int worker_threads;
    unsigned int connection_limit;
    unsigned int inactivity_timeout_seconds;
    size_t connection_memory;
    bool is_encrypted;
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
    struct MHD_OptionItem encryption[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)&cmhd_identity_retrieve},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:%SERVER_PRECEDENCE"},
        {MHD_OPTION_END, 0, NULL},
    };
    errno = 0;
    return MHD_start_daemon(
        // Turbo: new sockets are read at once, and a closed one is not shut down, so that a duplicate of it lives on. Without it, libmicrohttpd has
        // the TLS session say that this is the end, and shuts the socket down only if that fails; of a session that was handed over it cannot fail.
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | (o->is_encrypted ? MHD_USE_TLS : MHD_USE_TURBO), 0,
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
        MHD_OPTION_ARRAY, o->is_encrypted ? encryption : encryption + 2,
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

/// libmicrohttpd forgets a connection whose protocol has changed. `MHD_upgrade_action` is variadic.
static inline void cmhd_leave(struct MHD_UpgradeResponseHandle *handle) {
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

/// SHA-1 of `count` bytes, 20 bytes; 0 if it cannot be computed. RFC 6455 asks for it, not for its strength.
static inline int cmhd_sha1(const void *bytes, size_t count, uint8_t *digest) {
    return gnutls_hash_fast(GNUTLS_DIG_SHA1, bytes, count, digest) == 0;
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
