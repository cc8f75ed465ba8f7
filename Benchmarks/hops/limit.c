// The kernel's part of a message's way: reads the venue and sends each read on to one reader, by one thread, or by two of which the first wakes the second.
//
//   limit VENUE_PORT THREADS   prints the port that the reader connects to
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// Opens a WebSocket and subscribes, in a frame whose mask is zero.
static const char request[] =
    "GET /stream HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    "\x81\xbc\0\0\0\0{\"method\":\"SUBSCRIBE\",\"params\":[\"btcusdt@markPrice\"],\"id\":1}";

static int reader, wakeup;
static char bytes[1 << 16];
static _Atomic ssize_t size;

static void sendOn(void) {
    struct iovec vector = {bytes, atomic_exchange(&size, 0)};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (vector.iov_len > 0) sendmsg(reader, &message, MSG_NOSIGNAL);
}

static int watch(int descriptor) {
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
    return set;
}

static void *second(void *unused) {
    struct epoll_event event;
    for (int set = watch(wakeup);;)
        if (epoll_wait(set, &event, 1, -1) > 0) sendOn();
    return unused;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), venue = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 1) || getsockname(listener, (struct sockaddr *)&address, &length)) return 1;
    printf("http://127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    reader = accept(listener, NULL, NULL);
    setsockopt(reader, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    address.sin_port = htons(atoi(words[1]));
    if (connect(venue, (struct sockaddr *)&address, length) || send(venue, request, sizeof request - 1, 0) < 0) return 1;
    int isTwo = atoi(words[2]) > 1;
    wakeup = eventfd(0, EFD_NONBLOCK);
    pthread_t thread;
    if (isTwo) pthread_create(&thread, NULL, second, NULL);
    struct epoll_event event;
    for (int set = watch(venue);;) {
        if (epoll_wait(set, &event, 1, -1) <= 0) continue;
        ssize_t taken = read(venue, bytes, sizeof bytes);
        if (taken <= 0) return 0;
        atomic_store(&size, taken);
        uint64_t one = 1;
        if (!isTwo) sendOn();
        else if (write(wakeup, &one, sizeof one) != sizeof one) return 1;
    }
}
