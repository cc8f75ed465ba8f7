"""The way to a gateway, and readers of its events: curl in a process of its own, and the moment at which each event came."""

import json
import statistics
import subprocess
import threading
import time

from servers import NAME


class Reader:
    """`curl ARGUMENTS`, of which every event is kept as (moment, name, data)."""

    def __init__(self, *arguments):
        self.began, self.events, self.comments, self.ended, self.last_id = time.monotonic(), [], [], None, None
        self.changed = threading.Condition()
        self.process = subprocess.Popen(["curl", "-sgN", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        fields = {}
        for line in self.process.stdout:
            moment, line = time.monotonic(), line.rstrip("\n")
            with self.changed:
                if line.startswith("{"):
                    data = json.loads(line)
                    self.events.append((moment, data.get("event"), data))
                elif line.startswith(":"):
                    self.comments.append(moment)
                elif line:
                    key, _, value = line.partition(": ")
                    fields[key] = value
                    if key == "id":
                        self.last_id = value
                elif "data" in fields:
                    self.events.append((moment, fields["event"], json.loads(fields["data"])))
                    fields = {}
                self.changed.notify_all()
        with self.changed:
            self.ended = time.monotonic()
            self.changed.notify_all()

    def wait(self, condition, seconds=10):
        """Whether the condition comes true within so many seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: condition(self), seconds)

    def named(self, name):
        with self.changed:
            return [data for _, event, data in self.events if event == name]

    def first(self, name, seconds=10):
        """The data of the first event of that name; None where none comes."""
        self.wait(lambda _: any(event == name for _, event, _ in self.events), seconds)
        return next(iter(self.named(name)), None)

    def end(self):
        self.process.kill()
        self.process.wait()

    def moments(self):
        with self.changed:
            return {(data["stream"], data["id"]): moment for moment, event, data in self.events if event in ("update", "fetch") and "id" in data}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Route:
    """How curl reaches the gateway: through a proxy, or directly."""

    def __init__(self, folder, proxy):
        self.origin = f"{proxy.scheme}://{NAME}:{proxy.port}"
        self.options = [*(["--http2"] if proxy.scheme == "https" else []), "--cacert", str(folder / "chain.pem"), "--resolve", f"{NAME}:{proxy.port}:127.0.0.1"]
        self.direct = f"http://127.0.0.1:{proxy.gateway.port}"

    def reader(self, query, *options):
        return Reader(*self.options, *options, f"{self.origin}/events?{query}")

    def direct_reader(self, query, *options):
        return Reader(*options, f"{self.direct}/events?{query}")

    def ask(self, path, *options, direct=False):
        """The status, the fields by their names in lower case, and the body."""
        command = ["curl", "-sg", "-D", "-", "-m", "20", *([] if direct else self.options), *options, (self.direct if direct else self.origin) + path]
        head, _, body = subprocess.run(command, capture_output=True).stdout.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        return int((lines[0].split(" ") + ["0", "0"])[1] or 0), {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}, body

    def statuses(self, path, count, *options):
        """The statuses of so many requests, one right after the other on one connection."""
        targets = [word for _ in range(count) for word in ("-o", "/dev/null", self.origin + path)]
        return [int(status) for status in subprocess.run(["curl", "-sg", "-w", "%{http_code} ", *self.options, *options, *targets], capture_output=True, text=True).stdout.split()]

    def post(self, path, *options):
        return self.ask(path, "-X", "POST", *options)


class Delays:
    """By how much the same events came later to the one reader than to the other, in milliseconds."""

    def __init__(self, direct, proxied, since):
        there, here = direct.moments(), proxied.moments()
        due = [key for key, moment in there.items() if moment > since]
        self.missing = sum(1 for key in due if key not in here)
        self.all = sorted(1000 * (here[key] - there[key]) for key in due if key in here)

    @property
    def are_short(self):
        # The last ones may be on their way.
        return len(self.all) >= 20 and self.missing <= 3 and statistics.median(self.all) < 10 and self.all[len(self.all) * 95 // 100] < 50

    def __str__(self):
        if not self.all:
            return f"nothing came, {self.missing} missing"
        return f"{len(self.all)} events, {self.missing} missing, median {statistics.median(self.all):.1f} ms, 95 % {self.all[len(self.all) * 95 // 100]:.1f} ms, max {self.all[-1]:.1f} ms"
