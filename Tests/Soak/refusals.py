"""The venue's REST refuses in every way, on the first snapshot and after an outage: nothing incomplete is live, or answered on the venue's paths."""

import http.client
import http.server
import json
import random
import threading
import time

import house

STATUSES = (302, 400, 403, 404, 408, 409, 418, 429, 451, 500, 502, 503)
BODIES = {
    "json": b'{"code":-1007,"msg":"Timeout waiting for response from backend server."}',
    "html": b"<html><body>refused</body></html>",
    "empty": b"",
}
KINDS = ("kline_1m", "aggTrade", "depth@100ms", "bookTicker", "bar_1s")


class Refuser:
    """A relay of the venue's REST that refuses while `refusal` is set: (status, body), or None."""

    def __init__(self, venue):
        self.refusal, self.asked, self.times = None, 0, []
        refuser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                refusal = refuser.refusal
                if refusal and "exchangeInfo" not in self.path and "/time" not in self.path:
                    refuser.asked += 1
                    refuser.times.append((time.monotonic(), self.path.split("&limit")[0]))
                    status, body = refusal
                    headers = [("Retry-After", "0")] if status in (418, 429, 503) else []
                else:
                    ask = http.client.HTTPConnection(venue.host, venue.port, timeout=10)
                    ask.request("GET", self.path)
                    reply = ask.getresponse()
                    status, body, headers = reply.status, reply.read(), [("X-MBX-USED-WEIGHT-1M", reply.getheader("X-MBX-USED-WEIGHT-1M") or "0")]
                    ask.close()
                self.send_response(status)
                for name, value in [*headers, ("Content-Length", str(len(body)))]:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


def incomplete(gateway, streams):
    """The streams that say live and have less than the venue would give."""
    found = []
    for stream in streams:
        status, content = gateway.ask("GET", f"/streams/{stream}?wait=0")
        if status != 200 or content.get("state") != "live":
            continue
        rows = content["content"]
        if "kline" in stream and len(rows) < 400 or "aggTrade" in stream and len(rows) < 100 or stream == "!ticker@arr" and len(rows) < 20:
            found.append((stream, len(rows)))
    for path, least in (("/fapi/v1/klines?symbol=BTCUSDT&interval=1m&limit=499", 499), ("/fapi/v1/ticker/24hr", 20)):
        status, rows = gateway.ask("GET", path)
        if status == 200 and len(rows) < least:
            found.append((path, len(rows)))
    return found


def main(options):
    dice = random.Random(options.seed)
    print("seed", options.seed)
    cases = [(status, name) for status in STATUSES for name in BODIES]
    dice.shuffle(cases)
    cases = cases[: options.cases]
    faults, slowest, busiest = [], 0.0, 0
    for status, name in cases:
        exchange = house.Exchange(options.executable, "--symbols", 24, "--weight-limit", 100_000)
        refuser = Refuser(exchange)
        refuser.refusal = (status, BODIES[name])
        gateway = house.Program(
            options.executable, "serve", "--port", 0, "--lines", 1, "--rest-url", refuser.url, "--ws-url", f"ws://{exchange.host}:{exchange.port}",
            log=options.log)
        streams = [f"btcusdt@{kind}" for kind in KINDS] + ["!ticker@arr", "!miniTicker@arr"]
        for phase in ("first", "recovery"):
            end = time.monotonic() + options.seconds
            refuser.times.clear()
            while time.monotonic() < end:
                faults += [(status, name, phase, *found) for found in incomplete(gateway, streams)]
            per_stream = {}
            for at, path in refuser.times:
                per_stream.setdefault(path, []).append(at)
            for path, times in per_stream.items():
                closest = max((sum(1 for other in times if at <= other < at + 1) for at in times), default=0)
                # Two streams may ask the same, and the mirror passes a request on besides.
                busiest = max(busiest, closest)
            refuser.refusal = None
            began = time.monotonic()
            waiting = set(streams)
            while waiting and time.monotonic() < began + 60:
                waiting = {one for one in waiting if gateway.ask("GET", f"/streams/{one}?wait=1")[1].get("state") != "live"}
                time.sleep(0.1)
            slowest = max(slowest, time.monotonic() - began)
            if waiting:
                faults.append((status, name, phase, "not live after 60 s", sorted(waiting)))
            faults += [(status, name, phase, "after", *found) for found in incomplete(gateway, streams)]
            if phase == "first":
                refuser.refusal = (status, BODIES[name])
                exchange.fault("drop")
        gateway.end()
        exchange.end()
        refuser.server.shutdown()
        print(f"HTTP {status} {name}: asked {refuser.asked} times, {len(faults)} faults so far, live again within {slowest:.1f} s at most", flush=True)
    print(
        f"{len(cases)} refusals, 2 phases each, {len(faults)} faults; live again at most {slowest:.1f} s after; "
        f"at most {busiest} requests of one address within a second")
    for fault in faults[:10]:
        print("fault:", json.dumps(fault))
    return not faults
