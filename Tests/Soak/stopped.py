"""Half of many readers stop reading, and some read a byte a second: the delay of the other readers, the memory, and the farewells.

The delay is the time from the gateway's receipt of an update (`receivedAt`) until a reader has it. The readers run in a separate process. Rounds with
and without stopped readers alternate, so that both see the same machine.
"""

import json
import multiprocessing
import os
import selectors
import socket
import statistics
import time

import house
import verdict

STREAM = "!markPrice@arr@1s"
FAST = "btcusdt@depth@100ms"


def connect(port, streams, buffer=None):
    reader = socket.socket()
    if buffer:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    reader.connect(("127.0.0.1", port))
    reader.sendall(f"GET /events?streams={streams} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
    reader.setblocking(False)
    return reader


def others(port, count, pipe):
    """Readers that read; asked for a span of seconds, they tell the delays in it."""
    poll, readers = selectors.DefaultSelector(), []
    for _ in range(count):
        reader = connect(port, FAST)
        readers.append(reader)
        poll.register(reader, selectors.EVENT_READ, [b""])
    while True:
        seconds = pipe.recv()
        if not seconds:
            return
        # What came while nobody looked is not late.
        delays, begin, ended = [], time.monotonic() + 2, 0
        while time.monotonic() < begin + seconds:
            for key, _ in poll.select(0.05):
                data = key.fileobj.recv(1 << 20)
                now = time.time() * 1000
                if not data:
                    ended += 1
                    poll.unregister(key.fileobj)
                    continue
                text = key.data[0] + data
                whole, _, key.data[0] = text.rpartition(b"\n\n")
                for event in whole.split(b"\n\n"):
                    place = event.find(b'"receivedAt":')
                    if event.startswith(b"event: update") and place > 0 and time.monotonic() > begin:
                        delays.append(now - int(event[place + 13 : place + 26]))
        pipe.send((sorted(delays), ended))


def resident(pid):
    return int(open(f"/proc/{pid}/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def socket_memory():
    """The kernel's memory for all TCP sockets, bytes."""
    for line in open("/proc/net/sockstat"):
        if line.startswith("TCP:"):
            return int(line.split()[-1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def share(delays, part):
    return delays[min(len(delays) - 1, int(part * len(delays)))] if delays else 0


def main(options):
    stopped_count, slow_count = options.readers // 2, options.readers // 10
    venue = house.Exchange(options.executable, "--symbols", 400, "--book-updates", 100, "--depth-interval", 100)
    gateway = house.Gateway(options.executable, venue)
    pipe, end = multiprocessing.Pipe()
    count = options.readers - stopped_count - slow_count
    process = multiprocessing.Process(target=others, args=(gateway.port, count, end), daemon=True)
    process.start()

    def measure(seconds):
        pipe.send(seconds)
        return pipe.recv()

    measure(3)
    rounds, before, during, ended, grown, kernel, told = options.rounds, [], [], 0, [], [], 0
    for number in range(rounds):
        delays, gone = measure(10)
        before.append(delays)
        ended += gone
        base, kernel_base = resident(gateway.process.pid), socket_memory()
        stopped = [connect(gateway.port, STREAM, 4096) for _ in range(stopped_count)]
        slow = [connect(gateway.port, STREAM, 4096) for _ in range(slow_count)]
        pipe.send(20)
        until = time.monotonic() + 22
        while time.monotonic() < until:
            time.sleep(1)
            for reader in slow:
                try:
                    reader.recv(1)
                except OSError:
                    pass
        delays, gone = pipe.recv()
        during.append(delays)
        ended += gone
        grown.append((resident(gateway.process.pid) - base) / (stopped_count + slow_count) / 1024)
        kernel.append((socket_memory() - kernel_base) / (stopped_count + slow_count) / 1024)
        if number == rounds - 1:
            told = farewells(gateway, stopped)
        for reader in stopped + slow:
            reader.close()
        time.sleep(2)
    pipe.send(0)
    all_before, all_during = sorted(sum(before, [])), sorted(sum(during, []))
    growth = share(all_during, 0.99) / max(1, share(all_before, 0.99)) - 1
    rounds_of = lambda times: [round(share(delays, 0.99), 1) for delays in times]
    print(f"load average {os.getloadavg()[0]:.1f}; p99 of {count} readers, ms: {rounds_of(before)} alone, {rounds_of(during)} with", end=" ")
    print(f"{stopped_count} stopped and {slow_count} slow readers")
    print(f"p99 of all rounds increases by {growth * 100:.0f} %; each stopped reader uses {statistics.median(grown):.0f} KiB in the gateway and {statistics.median(kernel):.0f} KiB in the kernel")
    print(f"the gateway ended the connections of {told} of {stopped_count} stopped readers and of {ended} other readers")
    gateway.end()
    venue.end()
    faults = []
    if growth >= 0.1:
        faults.append(f"p99 of the other readers increases by {growth * 100:.0f} %")
    if max(grown) >= 512 or statistics.median(kernel) >= 512:
        faults.append(f"each stopped reader uses {max(grown):.0f} KiB in the gateway and {statistics.median(kernel):.0f} KiB in the kernel")
    if told < stopped_count:
        faults.append(f"the gateway ended the connections of only {told} of {stopped_count} stopped readers")
    if ended:
        faults.append(f"the gateway ended the connections of {ended} readers that read")
    return verdict.tell(faults)


def farewells(gateway, stopped):
    """How many of the stopped find `bye: slow` or an end once they read again, 30 s and a bit after they were full."""
    time.sleep(25)
    poll, told, until = selectors.DefaultSelector(), 0, time.monotonic() + 20
    for reader in stopped:
        poll.register(reader, selectors.EVENT_READ, bytearray())
    while poll.get_map() and time.monotonic() < until:
        for key, _ in poll.select(1):
            try:
                data = key.fileobj.recv(1 << 16)
            except OSError:
                data = b""
            key.data[:] = (key.data + data)[-400:]
            if not data or b"event: bye" in key.data:
                told += 1
                poll.unregister(key.fileobj)
    return told
