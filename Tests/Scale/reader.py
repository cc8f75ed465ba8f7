"""A reader of a few streams that keeps every event, on a thread of its own."""

import json
import threading
import time
import urllib.request


class Reader:
    """`events` are (name, data, id) as they came, `times` when each did; `last` is the newest id."""

    def __init__(self, address, streams, last=None):
        self.events, self.times, self.last, self.is_over = [], [], last, False
        host, port = address
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        self.request = urllib.request.Request(f"http://{host}:{port}/events?streams={','.join(streams)}", headers=headers)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            with urllib.request.urlopen(self.request, timeout=60) as lines:
                event = {}
                for line in lines:
                    if self.is_over:
                        return
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name:
                        event[name] = value
                    elif "event" in event:
                        self.last = event.get("id", self.last)
                        self.times.append(time.monotonic())
                        self.events.append((event["event"], json.loads(event["data"]), event.get("id")))
                        event = {}
        except OSError:
            pass

    def close(self):
        """Reads no more after the line that comes next."""
        self.is_over = True

    def holes(self, stream):
        """(trades of a stream, how often one is missing or came twice). Complete values may say again what is known."""
        last, seen, wrong, may_jump = None, 0, 0, False
        for name, data, _ in list(self.events):
            if data.get("stream") != stream:
                continue
            may_jump = may_jump or name == "gap" or name == "recover" and data.get("method") == "snapshot"
            if name not in ("update", "fetch") or not data["content"]:
                continue
            ids = [row["id"] for row in data["content"]]
            is_full = data["kind"] == "full"
            wrong += ids != list(range(ids[0], ids[-1] + 1))
            if last is not None and not may_jump:
                wrong += not (is_full and ids[0] <= last + 1 and ids[-1] >= last or ids[0] == last + 1)
            seen += ids[-1] - (ids[0] - 1 if last is None or ids[0] > last else last)
            last, may_jump = ids[-1], False
        return seen, wrong

    def of(self, stream, *names, behind=0):
        """The data of a stream's events of these names, from the event number `behind` on."""
        return [data for name, data, _ in self.events[behind:] if data.get("stream") == stream and name in names]
