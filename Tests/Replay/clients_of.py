"""Clients of the venue's sockets at a gateway: a plain one, and a strategy on ccxt.pro in a process of its own."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

import peer

HERE = pathlib.Path(__file__).resolve().parent


def say(text):
    print(text, flush=True)


class Plain(threading.Thread):
    """Follows streams over one combined socket, and opens it again when it ends. `frames` has the text of each message by stream."""

    def __init__(self, gateway, streams):
        super().__init__(daemon=True)
        self.gateway, self.streams = gateway, streams
        self.frames = {name: [] for name in streams}
        self.ends, self.count, self.is_open, self.stopped = 0, 0, False, False

    def run(self):
        while not self.stopped:
            try:
                socket = peer.Socket(self.gateway.host, self.gateway.port, "/stream?streams=" + "/".join(self.streams))
            except (peer.Refused, OSError):
                time.sleep(0.05)
                continue
            self.is_open = True
            while socket.is_open and not self.stopped:
                for one in socket.wait(0.02):
                    if one.opcode == peer.TEXT:
                        self.take(one.payload.decode())
            self.is_open = False
            self.ends += 0 if self.stopped else 1

    def take(self, text):
        name = text.split('"', 4)[3]
        if name not in self.frames:
            # The socket will be closed.
            return
        frames = self.frames[name]
        # After an end, the first message of a book is the one that brought it to where it is, which may have been sent before.
        if text not in frames[-50:]:
            frames.append(text)
        self.count += 1

    def stop(self):
        self.stopped = True
        self.join(10)


class Trader:
    """A strategy in `script`; `words` are its further arguments."""

    def __init__(self, program, gateway, symbols, words, script="trader.py"):
        self.script = script
        self.output, self.errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        command = [program, "-B", HERE / script, f"{gateway.host}:{gateway.port}", ",".join(symbols), *words]
        self.process = subprocess.Popen(list(map(str, command)), stdout=self.output, stderr=self.errors, text=True, env=dict(os.environ))

    def result(self, patience=3600):
        """The last line of its output as JSON; ends the program with its errors if there is none."""
        self.process.wait(patience)
        self.output.seek(0)
        lines = [line for line in self.output.read().splitlines() if line.startswith("{")]
        if lines:
            return json.loads(lines[-1])
        self.errors.seek(0)
        said = [line for line in self.errors.read().splitlines() if line and not line.startswith((" ", "Traceback", "Exception ignored"))]
        raise SystemExit(f"{self.script} failed: " + "; ".join(said[:5]))
