"""Clients that break the protocol or never read. Other clients lose nothing, and the gateway's memory stays bounded."""

import os
import socket
import threading
import time

import peer
import same

GROWTH = 200
"""MiB by which the resident memory of the gateway may grow."""
DEAF = 60
"""Sockets that never read."""


def resident(process):
    """MiB of resident memory."""
    with open(f"/proc/{process.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Attacks:
    """Each returns None or its fault."""

    def __init__(self, stage):
        self.gateway, self.symbols = stage.gateway, stage.symbols

    def open(self, path="/ws", **options):
        return peer.Socket(self.gateway.host, self.gateway.port, path, **options)

    def ends(self, hostile, codes, words, seconds=4):
        """The socket must end, with one of these codes if it sends a close frame."""
        hostile.until_end(seconds)
        code = hostile.closed[0] if hostile.closed else None
        if hostile.ended is None:
            return f"{words}: the socket is open after {seconds} s"
        return None if code in codes else f"{words}: closed is {hostile.closed} ({hostile.ended}), not {codes}"

    def unmasked(self):
        hostile = self.open()
        hostile.send(peer.TEXT, b'{"method":"LIST_SUBSCRIPTIONS","id":1}', masked=False)
        return self.ends(hostile, (1002,), "an unmasked frame")

    def endless_length(self):
        hostile = self.open()
        hostile.send_bytes(peer.frame(peer.TEXT, b"x", length=1 << 63))
        return self.ends(hostile, (1002, 1009), "a length of 2^63")

    def huge_length(self):
        hostile = self.open()
        hostile.send_bytes(peer.frame(peer.TEXT, b"x", length=(1 << 63) - 1))
        return self.ends(hostile, (1009,), "a length of 2^63 - 1")

    def fragments(self):
        hostile = self.open()
        hostile.send(peer.TEXT, b"x" * 1000, fin=False)
        for _ in range(5000):
            hostile.send(peer.CONTINUATION, b"x" * 1000, fin=False)
            if hostile.ended:
                break
        return self.ends(hostile, (1009, 1008, None), "endless fragments")

    def empty_fragments(self):
        hostile = self.open()
        hostile.send(peer.TEXT, b"", fin=False)
        part = peer.frame(peer.CONTINUATION, b"", fin=False) * 1000
        for _ in range(100):
            hostile.send_bytes(part)
            if hostile.ended:
                break
        hostile.close()

    def big_control(self):
        hostile = self.open()
        hostile.send(peer.PING, b"x" * 126)
        return self.ends(hostile, (1002,), "a ping of 126 bytes")

    def fragmented_control(self):
        hostile = self.open()
        hostile.send(peer.PING, b"x", fin=False)
        return self.ends(hostile, (1002,), "a fragmented ping")

    def reserved(self):
        for first, words in ((0xC1, "a reserved bit"), (0x83, "opcode 3"), (0x8B, "opcode 11")):
            hostile = self.open()
            hostile.send_bytes(bytes([first]) + peer.frame(peer.TEXT, b"x")[1:])
            if fault := self.ends(hostile, (1002,), words):
                return fault

    def not_text(self):
        hostile = self.open()
        hostile.send(peer.TEXT, b'{"method":"\xff"}')
        return self.ends(hostile, (1007,), "a text that is not UTF-8")

    def binary(self):
        hostile = self.open()
        hostile.send(peer.BINARY, b"x")
        return self.ends(hostile, (1003,), "a binary message")

    def no_code(self):
        hostile = self.open()
        hostile.send(peer.CLOSE)
        return self.ends(hostile, (None, 1000, 1005), "a close without a code")

    def wrong_closes(self):
        for payload in (b"\x03", (999).to_bytes(2, "big"), (1005).to_bytes(2, "big"), (1006).to_bytes(2, "big"), (1000).to_bytes(2, "big") + b"\xff"):
            hostile = self.open()
            hostile.send(peer.CLOSE, payload)
            if fault := self.ends(hostile, (1002, 1007), f"a close with {payload!r}"):
                return fault

    def half_closed(self):
        hostile = self.open("/ws/" + self.symbols[0].lower() + "@bookTicker")
        hostile.tcp.shutdown(socket.SHUT_WR)
        return self.ends(hostile, (None, 1000, 1001, 1006), "a half-closed socket", 20)

    def continuation_first(self):
        hostile = self.open()
        hostile.send(peer.CONTINUATION, b"x")
        return self.ends(hostile, (1002,), "a continuation of nothing")

    def aborted(self):
        for _ in range(50):
            hostile = self.open("/ws/" + self.symbols[0].lower() + "@depth@0ms")
            hostile.reset()

    def torn_handshakes(self):
        lines = ("GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n", "GET /ws/a@b HTTP/1.1\r\n\r\n")
        for text in lines * 10:
            with socket.create_connection((self.gateway.host, self.gateway.port)) as tcp:
                tcp.sendall(text.encode())

    def flood(self):
        """Pings without end from a client that never reads the pongs."""
        hostile = self.open(buffer=4096)
        hostile.tcp.settimeout(0.5)
        part = peer.frame(peer.PING, b"x" * 125) * 100
        for _ in range(200):
            hostile.send_bytes(part)
            if hostile.ended:
                break
        # A server that closes with unread bytes resets the connection, so its close frame can be lost.
        fault = self.ends(hostile, (None, 1008), "20,000 pings within seconds")
        hostile.close()
        return fault


def deaf(stage):
    """Sockets that ask for much and never read."""
    streams = list(same.ARRAYS) + [f"{symbol.lower()}@depth@0ms" for symbol in stage.symbols]
    made = []
    for _ in range(DEAF):
        made.append(peer.Socket(stage.gateway.host, stage.gateway.port, "/stream?streams=" + "/".join(streams), buffer=4096))
    return made


def check(stage, seconds=45):
    made = same.pairs(stage.dice, stage.venue, stage.gateway, stage.symbols, rare=False)
    same.pump(made, 2)
    before, faults, peak = resident(stage.gateway.process), [], [0.0]
    attacks, done = Attacks(stage), threading.Event()

    def attack():
        silent = deaf(stage)
        until, rounds = time.monotonic() + seconds, 0
        try:
            while time.monotonic() < until or not rounds:
                names = [name for name in vars(Attacks) if not name.startswith("_") and name not in ("open", "ends")]
                stage.dice.shuffle(names)
                for name in names:
                    try:
                        fault = getattr(attacks, name)()
                    except (OSError, peer.Refused, peer.Broken) as error:
                        fault = f"{name}: {type(error).__name__}: {error}"
                    if fault and fault not in faults:
                        faults.append(fault)
                    peak[0] = max(peak[0], resident(stage.gateway.process))
                rounds += 1
        finally:
            for one in silent:
                one.close()
            print(f"hostile: {rounds} rounds of {len(names)} attacks; {DEAF} sockets did not read for {seconds} s", flush=True)
            done.set()
    thread = threading.Thread(target=attack, daemon=True)
    thread.start()
    while not done.is_set():
        same.pump(made, 0.5)
        peak[0] = max(peak[0], resident(stage.gateway.process))
    compared, wrong = same.finish(made)
    after = resident(stage.gateway.process)
    print(f"hostile: the others received {compared} frames, {len(wrong)} faults; resident memory {before:.0f} MiB before, {peak[0]:.0f} at most, "
          f"{after:.0f} after", flush=True)
    if peak[0] > before + GROWTH:
        faults.append(f"resident memory grew from {before:.0f} to {peak[0]:.0f} MiB")
    return faults + wrong
