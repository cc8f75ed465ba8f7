"""What a proxy and the gateway write while clients show secrets in every place that the gateway or a client may know, and who sees the metrics."""

import json
import re
import signal
import socket
import ssl
import subprocess
import time

from servers import NAME

METRICS = ["/metrics", "/%6Detrics", "/metric%73", "//metrics", "/./metrics", "/.//metrics", "/x/../metrics", "/metrics/", "/metrics//", "/metrics?x=1", "/METRICS",
           "/%2Fmetrics", "/metrics%2F", "/%2e/metrics", "/metrics%00", "/metrics;x", "/metrics/.", "/metrics/../metrics"]


class Keys:
    """A file of one key for each place, so that a finding names its place."""

    def __init__(self, executable, path, *places):
        self.path, self.all, lines = path, {}, []
        for place in places:
            made = subprocess.run([executable, "hash-key", "--new"], capture_output=True, text=True).stdout
            digest = re.search(r"\b[0-9a-f]{64}\b", made)[0]
            self.all[place] = next(word for word in re.findall(r"[\w.+/=-]{30,}", made) if word != digest)
            lines.append(f'{place}: {{hash: {digest}, streams: ["*"], operations: [read, control, refetch]}}\n')
        path.write_text("".join(lines))


def raw(proxy, text):
    """Sends bytes that curl would not; what is answered."""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=10) as plain:
        with ssl.create_default_context(cafile=str(proxy.folder / "chain.pem")).wrap_socket(plain, server_hostname=NAME) if proxy.scheme == "https" else plain as connection:
            connection.sendall(text.encode())
            answer = b""
            while len(answer) < 100_000 and (chunk := connection.recv(65536)):
                answer += chunk
            return answer


def shown(proxy, route, keys, client):
    """Sends the secrets. Returns them by their places, whether the good ones were taken, and what was answered to all but the ticket's."""
    secrets = {f"key {place}": key for place, key in keys.items()} | {"client before": client}
    answers = []

    def ask(path, *options):
        status, fields, body = route.ask(path, *options)
        answers.append(repr(fields).encode() + body)
        return status

    def canary(place):
        secrets[place] = f"canary{len(secrets):02}of" + re.sub(r"\W+", "", place)
        return secrets[place]

    price, venue = "/streams/btcusdt@markPrice", "/fapi/v1/premiumIndex?symbol=BTCUSDT"
    good = [
        ask(f"/k/{keys['path']}{venue}"), ask(f"/%6B/{keys['escaped']}{venue}"), ask(price, "-H", f"X-API-Key: {keys['field']}"),
        ask(price, "-H", f"Authorization: Bearer {keys['bearer']}")]
    secrets["ticket"] = json.loads(route.post("/tickets", "-H", f"X-API-Key: {keys['ticket']}")[2])["ticket"]
    with route.reader(f"streams=btcusdt@markPrice@1s&ticket={secrets['ticket']}") as reader:
        session = reader.first("session") or {}
        secrets["client"] = session.get("client")
        good.append(route.post(f"/events/{session.get('client')}/pause", "-H", f"Authorization: Bearer {keys['ticket']}")[0])
        good.append(route.post(f"/%65vents/{session.get('client')}/resume", "-H", f"Authorization: Bearer {keys['ticket']}")[0])
    for prefix in ("/k/", "/K/", "/%6b/", "/%6B/", "//k/", "//k//", "/./k/", "/x/../k/", "/x/k/", "/k/%61", "/k/a%2F", "/k/a%2Fb%2f", "/k/%2e%2e%2f"):
        ask(f"{prefix}{canary('path ' + prefix)}{venue}")
        ask(f"{prefix}{canary('end of ' + prefix)}")
    for prefix in ("/events/", "//events/", "/%65vents/"):
        ask(f"{prefix}{canary('client ' + prefix)}/pause", "-X", "POST")
    ask(f"{price}?ticket={canary('ticket of another route')}")
    ask(f"/events?streams=btcusdt@depth&%74icket={canary('escaped ticket')}")
    ask(f"/events?streams=btcusdt@depth&ticket={canary('wrong ticket')}")
    for name in ("Authorization: Bearer ", "Authorization: Basic ", "X-API-Key: ", "X-MBX-APIKEY: ", "Cookie: key=", "Proxy-Authorization: Bearer ", "Referer: https://x.example/?ticket=",
                 "Last-Event-ID: ", "Host: ", "X-Forwarded-For: "):
        ask(venue, "-H", name + canary("field " + name))
    ask("/mcp", "-H", f"Authorization: Bearer {canary('agent')}", "--data", json.dumps({"jsonrpc": "2.0", "id": 1, "method": canary("method of an agent")}))
    # What a proxy or the gateway refuses before it looks at it.
    head = f"Host: {NAME}\r\nConnection: close\r\n"
    for text in (f"GET /k/{canary('bad escape')}%zz/fapi/v1/time HTTP/1.1\r\n{head}\r\n", f"GET /k/{canary('bad version')}/fapi/v1/time HTTP/3.7\r\n{head}\r\n",
                 f"GET /k/{canary('control')}\x01/fapi/v1/time HTTP/1.1\r\n{head}\r\n", f"GET /k/{canary('bad field')}/fapi/v1/time HTTP/1.1\r\n{head}bad field\r\n\r\n",
                 f"G@T /k/{canary('bad method')}/fapi/v1/time HTTP/1.1\r\n{head}\r\n", f"GET /k/{canary('no Host')}/fapi/v1/time HTTP/1.1\r\nConnection: close\r\n\r\n",
                 f"GET http://{NAME}/k/{canary('absolute')}/fapi/v1/time HTTP/1.1\r\n{head}\r\n",
                 f"GET /events?ticket={canary('long')}{'x' * 20_000} HTTP/1.1\r\n{head}\r\n", f"GET / HTTP/1.1\r\n{head}X-API-Key: {canary('long field')}{'x' * 40_000}\r\n\r\n"):
        try:
            answers.append(raw(proxy, text))
        except OSError:
            pass
    # The gateway gone, and back.
    proxy.gateway.process.send_signal(signal.SIGKILL)
    proxy.gateway.process.wait()
    for path in (f"/k/{canary('path of a gateway that is gone')}{venue}", f"/events?streams=btcusdt@depth&ticket={canary('ticket of one')}"):
        ask(path, "-H", f"X-API-Key: {canary('field of one')}", "-m", "8")
    return secrets, good, answers


def keeps_secrets(tell, proxy, route, client, *options):
    """With keys: each place takes its key, and no secret is in what the proxy or the gateway writes or answers."""
    gateway = proxy.gateway
    keys = Keys(gateway.executable, proxy.folder / "keys.yaml", "path", "escaped", "field", "bearer", "ticket")
    gateway.end()
    gateway.start("--keys", str(keys.path), "--log-level", "trace", *options)
    proxy.wait_until_up(route)
    tell(proxy, "without a key there is nothing", route.ask("/streams/btcusdt@markPrice")[0] == 401)
    secrets, good, answers = shown(proxy, route, keys.all, client)
    tell(proxy, "each place takes its key", set(good) == {200}, good)
    gateway.start("--keys", str(keys.path), *options)
    proxy.wait_until_up(route)
    with gateway.page("/metrics") as answer:
        answers.append(answer.read())
    proxy.end()
    for where, text in (("the proxy", proxy.logs()), ("the gateway", gateway.log.read_text(errors="replace")), ("an answer", b"".join(answers).decode(errors="replace"))):
        # A client is told back the name that it gave, as in "there is no method …"; nobody else is.
        found = [place for place, secret in secrets.items() if secret and secret in text and not (where == "an answer" and place == "method of an agent")]
        tell(proxy, f"{where} writes no secret", not found and text, f"{len(text.splitlines())} lines, {len(found)} of {len(secrets)} secrets {found or ''}")
    wanted = ("/events/-/pause", "/k/-/fapi/v1/premiumIndex")
    tell(proxy, "the log still says what was asked", all(re.sub("/(k|events)//", r"/\1/-/", proxy.logs().replace("\\/", "/")).count(one) for one in wanted))


def hides_metrics(tell, proxy, route):
    """However their address is written; the gateway itself shows them here."""
    shows = [path for path in METRICS if b"futures_gateway_" in route.ask(path, "--path-as-is")[2]]
    direct = [path for path in METRICS if b"futures_gateway_" in route.ask(path, "--path-as-is", direct=True)[2]]
    tell(proxy, "the metrics are not for everybody", not shows and "/%6Detrics" in direct, f"{len(METRICS)} spellings, of which {len(direct)} are the gateway's: {shows or 'none shown'}")
