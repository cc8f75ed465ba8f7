"""A mirror that lies: it passes requests on to the venue and spoils some answers in one way. Every check has to notice it."""

import collections
import http.server
import json
import re
import threading
import urllib.parse

import stand

LIES = ("digit", "order", "stale", "late", "invented", "code", "status", "clock", "one")
"""
digit: one digit of one price differs. order: two members change places. stale: a book stays as it was first asked for. late: so do bars.
invented: a bar without trades is added. code: another error code. status: 200 for an error. clock: a clock is no time. one: the digit, in one answer
of two hundred. Besides, `keeps` gives the last good answer while the venue gives none.
"""


def digit(body):
    """The last digit of the last price or quantity is another."""
    return re.sub(rb'(.*)(\d)(")', lambda found: found[1] + (b"1" if found[2] == b"0" else b"0") + found[3], body, count=1, flags=re.S)


def order(body):
    """The first two members of the first object change places."""
    return re.sub(rb'\{("[^"]+":[^,{}\[\]]+),("[^"]+":[^,{}\[\]]+)', rb"{\2,\1", body, count=1)


def invented(body):
    bars = json.loads(body)
    last = bars[-1]
    made = [last[6] + 1, last[4], last[4], last[4], last[4], "0", 2 * last[6] - last[0] + 1, "0", 0, "0", "0", "0"]
    return json.dumps([*bars, made], separators=(",", ":"), ensure_ascii=False).encode()


class Liar:
    """A relay to `venue`, a thread for each connection. `lie` is one of LIES, or empty: then it is honest."""

    def __init__(self, venue, lie=""):
        self.venue, self.lie, self.kept, self.answers, self.local = venue, lie, {}, 0, threading.local()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                status, headers, body = owner.answer(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host, self.port = self.server.server_address
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def spent(self):
        """It keeps no account."""
        return collections.Counter()

    def line(self):
        return stand.Line(self.host, self.port)

    def answer(self, target):
        reply = self.fetch(target)
        headers = {"Content-Type": reply.headers.get("content-type", "application/json"), "X-MBX-USED-WEIGHT-1M": "1"}
        headers |= {"X-Feed-Age-Ms": "0", "X-Feed-Source": "rest", "X-Feed-State": "live"}
        self.answers += 1
        status, body = self.spoiled(stand.endpoint(target), urllib.parse.unquote(target), reply)
        return status, headers, body

    def fetch(self, target):
        """The venue's answer; of a liar that keeps, the last good one where there is none."""
        if not hasattr(self.local, "line"):
            self.local.line = self.venue.line()
            self.local.line.timeout = 1 if self.lie == "keeps" else 30
        try:
            reply = self.local.line.ask(target)
        except OSError:
            if self.lie != "keeps" or target not in self.kept:
                raise
            return self.kept[target]
        if self.lie == "keeps" and reply.status == 200:
            self.kept[target] = reply
        return self.kept.get(target, reply) if self.lie == "keeps" else reply

    def spoiled(self, name, target, reply):
        status, body, is_right = reply.status, reply.body, reply.status == 200
        if self.lie == "digit" and is_right or self.lie == "one" and is_right and self.answers % 200 == 0:
            return status, digit(body)
        if self.lie == "order" and is_right:
            return status, order(body)
        if self.lie in ("stale", "late") and is_right and name == {"stale": "depth", "late": "klines"}[self.lie]:
            return status, self.kept.setdefault(target, body)
        if self.lie == "invented" and is_right and name == "klines" and len(body) > 2:
            return status, invented(body)
        if self.lie == "code" and not is_right:
            return status, re.sub(rb'"code":-\d+', b'"code":-1', body)
        if self.lie == "status" and not is_right:
            return 200, body
        if self.lie == "clock" and is_right:
            return status, re.sub(rb'("(?:serverTime|T|time)":)\d{13}', rb"\g<1>17", body)
        return status, body

    def end(self):
        self.server.shutdown()
        self.server.server_close()
