// Preloaded into a server by `hops`: notes when its threads wake up, read the venue's socket, ask for the time, wake each other, and send.
//
// HOPS_FILE names a file that `hops` reads: a count, then records. HOPS_PORT is the venue's port. The venue's socket tells when the kernel received what
// is read (SO_TIMESTAMPNS). All times are of CLOCK_MONOTONIC.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { AWAKE = 1, ARRIVED, READ, ASKED, SIGNALLED, SENDING, SENT };
struct record { uint64_t at; int64_t value; uint32_t thread; uint16_t kind; uint16_t descriptor; };
enum { CAPACITY = 1 << 20, DESCRIPTORS = 1 << 16 };

static struct { _Atomic uint64_t count; struct record records[CAPACITY]; } *shared;
static uint16_t port;
static enum { UNKNOWN, VENUE, OTHER } sockets[DESCRIPTORS];

static int ask(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, time);
}

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    ask(clock, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static void note(uint16_t kind, int descriptor, uint64_t at, int64_t value) {
    static __thread uint32_t thread;
    if (!shared) return;
    if (!thread) thread = syscall(SYS_gettid);
    uint64_t place = atomic_fetch_add_explicit(&shared->count, 1, memory_order_relaxed);
    if (place < CAPACITY) shared->records[place] = (struct record){at, value, thread, kind, descriptor};
}

static void noteNow(uint16_t kind, int descriptor, int64_t value) { note(kind, descriptor, nanoseconds(CLOCK_MONOTONIC), value); }

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("HOPS_FILE"), *number = getenv("HOPS_PORT");
    if (!path || !number) return;
    port = atoi(number);
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (memory != MAP_FAILED) shared = memory;
}

static int isVenue(int descriptor) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return 0;
    if (sockets[descriptor] == UNKNOWN) {
        struct sockaddr_in peer = {0};
        socklen_t size = sizeof peer;
        int on = 1;
        int isIt = getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 && peer.sin_family == AF_INET && ntohs(peer.sin_port) == port;
        if (isIt) setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
        sockets[descriptor] = isIt ? VENUE : OTHER;
    }
    return sockets[descriptor] == VENUE;
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < DESCRIPTORS) sockets[descriptor] = UNKNOWN;
    return syscall(SYS_close, descriptor);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
    if (!shared || !isVenue(descriptor)) return syscall(SYS_read, descriptor, bytes, count);
    char control[128];
    struct iovec vector = {bytes, count};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t size = recvmsg(descriptor, &message, 0);
    if (size <= 0) return size;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS) continue;
        struct timespec time;
        memcpy(&time, CMSG_DATA(part), sizeof time);
        uint64_t ahead = nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC);
        note(ARRIVED, descriptor, time.tv_sec * 1000000000ull + time.tv_nsec - ahead, size);
    }
    noteNow(READ, descriptor, size);
    return size;
}

int epoll_wait(int set, struct epoll_event *events, int most, int timeout) {
    int count = syscall(SYS_epoll_wait, set, events, most, timeout);
    if (count > 0) noteNow(AWAKE, set, count);
    return count;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    uint64_t at = nanoseconds(CLOCK_MONOTONIC);
    ssize_t size = syscall(SYS_write, descriptor, bytes, count);
    if (count == sizeof(uint64_t)) note(SIGNALLED, descriptor, at, nanoseconds(CLOCK_MONOTONIC) - at);
    return size;
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    noteNow(SENDING, descriptor, 0);
    ssize_t size = syscall(SYS_sendmsg, descriptor, message, flags);
    noteNow(SENT, descriptor, size);
    return size;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = ask(clock, time);
    if (shared) noteNow(ASKED, clock, 0);
    return result;
}
