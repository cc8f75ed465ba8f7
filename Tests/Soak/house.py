"""The exchange and the gateway as processes of their own, and what can be asked of them."""

import atexit
import http.client
import json
import re
import subprocess


class Program:
    """One run of the executable; its first line tells where it listens."""

    def __init__(self, executable, *arguments, log=None, wrap=()):
        """`wrap` is the command that runs it, as in `prlimit --nofile=256`; `log` a path, or an open file."""
        errors = open(log, "w") if isinstance(log, str) else log or subprocess.DEVNULL
        self.process = subprocess.Popen([*wrap, executable, *map(str, arguments)], stdout=subprocess.PIPE, stderr=errors, text=True)
        atexit.register(self.process.kill)
        line = self.process.stdout.readline()
        found = re.search(r"https?://([\w.]+):(\d+)", line)
        if not found:
            raise SystemExit(f"{executable} did not start: {line!r}")
        self.host, self.port = found[1], int(found[2])
        self.http = None

    def ask(self, method, path, body=None, headers=None):
        """One request on a kept connection; (status, body as JSON or text)."""
        for attempt in (1, 2):
            try:
                if not self.http:
                    self.http = http.client.HTTPConnection(self.host, self.port, timeout=10)
                self.http.request(method, path, json.dumps(body) if body is not None else None, headers or {})
                reply = self.http.getresponse()
                text = reply.read().decode()
                break
            except (OSError, http.client.HTTPException):
                self.http = None
                if attempt == 2:
                    raise
        try:
            return reply.status, json.loads(text)
        except ValueError:
            return reply.status, text

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.terminate()
        try:
            return self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Exchange(Program):
    def __init__(self, executable, *options):
        super().__init__(executable, "demo-exchange", "--port", 0, *options)

    def fault(self, name, **parameters):
        status, reply = self.ask("POST", "/control/fault", {"fault": name, **parameters})
        if status != 200:
            raise SystemExit(f"the exchange refused {name}: {reply}")

    def true_book(self, symbol, update_id):
        """The best 20 levels of each side right after an update; None where the exchange does not know."""
        status, reply = self.ask("GET", f"/control/book?symbol={symbol}&updateId={update_id}")
        return (list(map(tuple, reply["bids"])), list(map(tuple, reply["asks"]))) if status == 200 else None

    def symbols(self, count):
        _, info = self.ask("GET", "/fapi/v1/exchangeInfo")
        return [row["symbol"] for row in info["symbols"] if row["status"] == "TRADING" and row["symbol"].isascii()][:count]


class Gateway(Program):
    """A gateway of the venue at `venue.host` and `venue.port`, by one line if `options` do not say otherwise."""

    def __init__(self, executable, venue, *options, port=0, log=None, wrap=()):
        self.venue = venue
        base = f"{venue.host}:{venue.port}"
        options = options if "--lines" in options else (*options, "--lines", 1)
        super().__init__(executable, "serve", "--port", port, "--rest-url", f"http://{base}", "--ws-url", f"ws://{base}", *options, log=log, wrap=wrap)
