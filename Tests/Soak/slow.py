"""Readers with small receive buffers that read slowly but steadily are served on, and one whose machine is gone is noticed.

The first are not reset, whatever the kernel makes of their small windows; if the gateway ends a connection it says `bye`. The last one drops
everything that comes (a socket filter), as if its machine were gone, and of it nothing may be left.
"""

import ctypes
import selectors
import socket
import struct
import time

import house

STREAMS = "!miniTicker@arr,btcusdt@depth@100ms,ethusdt@depth@100ms"
BUFFERS = (4 << 10, 16 << 10, 64 << 10)
PIECE = 800
"""Bytes read ten times a second."""


def connect(gateway, buffer=None, streams=STREAMS):
    reader = socket.socket()
    if buffer:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    reader.connect((gateway.host, gateway.port))
    reader.sendall(f"GET /events?streams={streams} HTTP/1.1\r\nHost: {gateway.host}\r\n\r\n".encode())
    return reader


def vanish(reader):
    """From now on what comes is dropped before TCP sees it: a filter (BPF) that takes no bytes."""
    drop = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    reader.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", 1, ctypes.addressof(drop)))
    return drop


def readers(gateway):
    _, text = gateway.ask("GET", "/metrics")
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("futures_gateway_event_readers{"))


def main(options):
    exchange = house.Exchange(options.executable, "--book-updates", options.rate, "--depth-interval", options.interval, "--symbols", 30)
    gateway = house.Gateway(options.executable, exchange, log=options.log)
    faults = []
    slow = {connect(gateway, buffer): [buffer, 0, b"", None] for buffer in BUFFERS}
    gone, keeper = connect(gateway, streams="btcusdt@depth@100ms"), connect(gateway, streams="!forceOrder@arr")
    gone.recv(1 << 16)
    time.sleep(1)
    begin = readers(gateway)
    _filter = vanish(gone)
    start, noticed = time.monotonic(), None
    poll = selectors.DefaultSelector()
    for reader in slow:
        poll.register(reader, selectors.EVENT_READ)
    while time.monotonic() < start + options.seconds:
        time.sleep(0.1)
        for key, _ in poll.select(0):
            state = slow[key.fileobj]
            try:
                data = key.fileobj.recv(PIECE)
            except ConnectionResetError:
                data, state[3] = b"", "reset"
            if data:
                state[1] += len(data)
                state[2] = (state[2] + data)[-4096:]
                continue
            poll.unregister(key.fileobj)
            state[3] = f"{state[3] or 'ended'} after {time.monotonic() - start:.0f} s, {'told' if b'event: bye' in state[2] else 'not told'}"
        if noticed is None and readers(gateway) <= begin - 1:
            noticed = time.monotonic() - start
    for buffer, count, _, end in slow.values():
        print(f"a buffer of {buffer >> 10} KiB at {count / options.seconds / 1000:.1f} KB/s for {options.seconds} s: {end or 'served on'}")
        if end and "not told" in end:
            faults.append(f"reset without bye: a reader with a buffer of {buffer >> 10} KiB {end}")
    print(f"a machine that is gone: {f'noticed after {noticed:.0f} s' if noticed else 'not noticed'}")
    if not noticed or noticed > 60:
        faults.append("a machine that is gone was not noticed within 60 s")
    ends = gateway.end(), exchange.end()
    if ends != (0, 0):
        faults.append(f"the gateway and the exchange ended with {ends}")
    keeper.close()
    for fault in faults:
        print("FAULT", fault)
    print("passed" if not faults else f"FAILED with {len(faults)} faults", flush=True)
    return not faults
