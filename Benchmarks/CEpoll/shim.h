#pragma once
#include <linux/net_tstamp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

// Declared by the C library for GNU sources only.
extern void *memmem(const void *text, size_t length, const void *word, size_t wordLength);

/// Makes the kernel note when bytes arrive at a socket. Zero if it does.
static inline int crowd_note_arrivals(int descriptor) {
    int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    return setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags);
}

/// recv(2) that also tells when the last of the bytes arrived, nanoseconds since 1970 UTC; zero if the kernel does not say.
static inline long crowd_receive(int descriptor, void *buffer, size_t size, int64_t *arrived) {
    struct iovec part = {buffer, size};
    union {
        char bytes[CMSG_SPACE(3 * sizeof(struct timespec))];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    long count = recvmsg(descriptor, &message, 0);
    *arrived = 0;
    if (count <= 0) return count;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SO_TIMESTAMPING) continue;
        struct timespec noted;
        memcpy(&noted, CMSG_DATA(item), sizeof noted);
        *arrived = (int64_t)noted.tv_sec * 1000000000 + noted.tv_nsec;
    }
    return count;
}
