"""Readers in processes of their own: each follows every stream, checks every event, and reports what changed."""

import multiprocessing
import selectors
import time
import zlib

import book
import sse

SAMPLE = 150


class Reader:
    """One event connection and the books rebuilt from it."""

    def __init__(self, number, host, port, streams, report):
        self.number, self.report = number, report
        self.followers = {stream: book.Follower(stream) for stream in streams}
        self.last_id = None
        self.events = 0
        self.invalid = set(streams)
        self.connection = sse.Connection(host, port, streams)

    def take(self, event, identity, data):
        self.events += 1
        if identity:
            number = tuple(int(part, 36) for part in identity.split("."))
            if self.last_id and (number[0] != self.last_id[0] or number[1] <= self.last_id[1]):
                raise book.Fault(f"id {identity} after {self.last_id}")
            self.last_id = number
        if event == "bye":
            raise book.Fault(f"bye: {data}")
        follower = self.followers.get(data.get("stream"))
        if not follower:
            return
        follower.take(event, data)
        if event == "connect":
            self.report(("connect", self.number, time.monotonic()))
        self._validity(follower)
        if event in ("update", "fetch") and follower.valid and zlib.crc32(b"%d" % follower.update_id) % SAMPLE == 0:
            self.report(("sample", self.number, follower.stream, follower.update_id, follower.top()))

    def _validity(self, follower):
        before = bool(self.invalid)
        (self.invalid.discard if follower.valid else self.invalid.add)(follower.stream)
        if before != bool(self.invalid):
            self.report(("invalid" if self.invalid else "valid", self.number, time.monotonic()))


def run(numbers, host, port, streams, queue, stop):
    """A process with some readers."""
    selector = selectors.DefaultSelector()
    readers = [Reader(number, host, port, streams, queue.put) for number in numbers]
    for reader in readers:
        selector.register(reader.connection, selectors.EVENT_READ, reader)
    try:
        while not stop.is_set():
            for key, _ in selector.select(timeout=0.2):
                for event in key.data.connection.read():
                    key.data.take(*event)
    except (book.Fault, ConnectionError) as fault:
        queue.put(("fault", key.data.number, str(fault)))
    for reader in readers:
        queue.put(("done", reader.number, reader.events, sum(f.recoveries for f in reader.followers.values()),
                   sum(f.outages for f in reader.followers.values()), sorted(reader.invalid)))


def start(count, processes, host, port, streams):
    """Starts `count` readers; returns the queue of reports, the stop event and the processes."""
    queue, stop = multiprocessing.Queue(), multiprocessing.Event()
    groups = [range(count)[number::processes] for number in range(processes)]
    started = [multiprocessing.Process(target=run, args=(group, host, port, streams, queue, stop), daemon=True) for group in groups]
    for process in started:
        process.start()
    return queue, stop, started
