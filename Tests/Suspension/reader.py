"""An app for `suspensions`: reads streams of a gateway, and prints the state and the newest id of each every 5 ms. It reads `suspend` and `resume` from
its standard input.

    reader.py URL STREAM…
"""
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))

from futures_gateway import Feed

streams = sys.argv[2:]
feed = Feed(sys.argv[1], *streams)


def read():
    for _ in feed:
        pass


def sample():
    while True:
        for stream in streams:
            # The time comes first, so that no state is older than its time.
            now, status = time.time() * 1000, feed.status(stream)
            sys.stdout.write(f"{now:.3f} {stream} {status['state'] or 'none'} {status['id'] or '-'}\n")
        sys.stdout.flush()
        time.sleep(0.005)


for work in (read, sample):
    threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    command = line.strip()
    if command in ("suspend", "resume"):
        getattr(feed, command)()
    sys.stdout.write(f"done {command}\n")
    sys.stdout.flush()
