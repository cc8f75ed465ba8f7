"""Who is let in: tokens that are wrong in one way each, one that expires, a key that is taken away; and secrets, which nothing may show.

The tokens are signed by openssl, so that no code of the gateway's judges itself. `--control` runs it with the safety off that `UNSAFE` names.
"""

import base64
import contextlib
import hashlib
import hmac
import http.client
import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import house

STREAM = "btcusdt@markPrice"


def b64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=").decode()


def openssl(*arguments, given=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=given, capture_output=True, check=True).stdout


class Keys:
    """An RSA and an EC key, the set that shows their public halves, and another RSA key that is in no set."""

    def __init__(self, folder):
        self.folder = folder
        for name, kind in (("rsa", ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]), ("other", ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
                           ("ec", ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"])):
            openssl("genpkey", "-quiet", "-algorithm", *kind, "-out", f"{folder}/{name}.pem")
        modulus = bytes.fromhex(openssl("rsa", "-in", f"{folder}/rsa.pem", "-noout", "-modulus").decode().strip().partition("=")[2])
        point = openssl("pkey", "-in", f"{folder}/ec.pem", "-pubout", "-outform", "DER")[-64:]
        self.shared = os.urandom(48)
        self.public = openssl("pkey", "-in", f"{folder}/rsa.pem", "-pubout")
        self.set = {"keys": [
            {"kty": "RSA", "kid": "r", "alg": "RS256", "n": b64(modulus), "e": "AQAB"},
            {"kty": "EC", "kid": "e", "alg": "ES256", "crv": "P-256", "x": b64(point[:32]), "y": b64(point[32:])}]}

    def token(self, claims, head=None, key="rsa"):
        head = {"alg": "RS256", "kid": "r", "typ": "JWT"} if head is None else head
        text = f"{b64(head)}.{claims if isinstance(claims, str) else b64(claims)}"
        return f"{text}.{b64(self.sign(text.encode(), key))}"

    def sign(self, text, key):
        if isinstance(key, bytes):
            return hmac.new(key, text, hashlib.sha256).digest()
        signature = openssl("dgst", "-sha256", "-sign", f"{self.folder}/{key}.pem", given=text)
        if key != "ec":
            return signature
        numbers, place = [], 2
        for _ in range(2):
            length = signature[place + 1]
            numbers.append(signature[place + 2 : place + 2 + length].lstrip(b"\0").rjust(32, b"\0"))
            place += 2 + length
        return b"".join(numbers)


def wrong_tokens(keys, now):
    """Each is refused for one reason."""
    good = {"exp": now + 600, "streams": ["*"], "iss": "soak", "aud": "gateway"}
    but = lambda **change: {name: value for name, value in (good | change).items() if value is not None}
    token, whole = keys.token, keys.token(good)
    head, claims, signature = whole.split(".")
    flipped = signature[:-2] + ("A" if signature[-2] != "A" else "B") + signature[-1]
    return {
        "unsigned": f"{b64({'alg': 'none', 'kid': 'r'})}.{claims}.",
        "unsigned by another name": f"{b64({'alg': 'NONE', 'kid': 'r'})}.{claims}.",
        "without a signature": f"{head}.{claims}.", "of two parts": f"{head}.{claims}", "of four parts": whole + ".x",
        "with a signature changed": f"{head}.{claims}.{flipped}", "with claims changed": f"{head}.{b64(but(streams=['*', 'x']))}.{signature}",
        "with a head changed": f"{b64({'alg': 'RS256', 'kid': 'r'})}.{claims}.{signature}", "by another key": token(good, key="other"),
        "by HMAC with the public key": token(good, {"alg": "HS256", "kid": "r"}, keys.public),
        "by HMAC with a secret": token(good, {"alg": "HS256", "kid": "h"}, keys.shared),
        "of another algorithm than its key's": token(good, {"alg": "ES256", "kid": "r"}),
        "RS512": token(good, {"alg": "RS512", "kid": "r"}), "without an algorithm": token(good, {"kid": "r"}),
        "of an unknown key": token(good, {"alg": "RS256", "kid": "x"}), "without a key id": token(good, {"alg": "RS256"}, "other"),
        "with a key of its own": token(good, {"alg": "RS256", "jwk": keys.set["keys"][0]}, "other"),
        "with a key's address": token(good, {"alg": "RS256", "kid": "x", "jku": "http://127.0.0.1/keys"}, "other"),
        "with a critical extension": token(good, {"alg": "RS256", "kid": "r", "crit": ["b64"], "b64": False}),
        "expired": token(but(exp=now - 60)), "without an expiry": token(but(exp=None)), "with an expiry as text": token(but(exp=str(now + 600))),
        "with an expiry beyond all numbers": token(b64(json.dumps(but()).replace(str(now + 600), "1e400").encode())),
        "not valid yet": token(but(nbf=now + 600)), "of another issuer": token(but(iss="else")), "without an issuer": token(but(iss=None)),
        "for another audience": token(but(aud="else")), "without an audience": token(but(aud=None)), "without streams": token(but(streams=None)),
        "with streams that are no list": token(but(streams="*")), "with claims that are no JSON": token(b64(b"{exp:1}")),
        "with claims twice": token(b64(b'{"exp":1,' + json.dumps(good).encode()[1:])), "in padding": whole + "==", "empty": "", "long": "a" * 20_000,
        "ES256 by the RSA key": token(good, {"alg": "ES256", "kid": "e"}), "as a key": "x." * 30,
    }


class Echo(http.server.BaseHTTPRequestHandler):
    """An upstream that refuses every login and says back what it was shown."""

    def do_GET(self):
        shown = "\n".join(self.headers.values()).encode()
        self.send_response(401)
        self.send_header("Content-Length", str(len(shown)))
        self.end_headers()
        self.wfile.write(shown)

    do_POST = do_GET

    def log_message(self, *_):
        pass


def asked(gateway, path, headers=None, method="GET", body=None):
    """One request on a connection of its own; (status, all of the answer as text)."""
    connection = http.client.HTTPConnection(gateway.host, gateway.port, timeout=10)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        reply = connection.getresponse()
        return reply.status, f"{reply.status} {reply.headers}\n{reply.read().decode('latin1')}"


def follow(gateway, path, headers, seconds):
    """Lines of an event stream to its end, within some seconds; what it said, and how long it lasted."""
    connection, begin, text = http.client.HTTPConnection(gateway.host, gateway.port, timeout=seconds), time.monotonic(), ""
    with contextlib.closing(connection), contextlib.suppress(TimeoutError):
        connection.request("GET", path, headers=headers)
        reply = connection.getresponse()
        while line := reply.readline():
            text += line.decode()
    return text, time.monotonic() - begin


def main(options):
    if not shutil.which("openssl"):
        print("skipped: openssl is not installed")
        return True
    faults, shown, now = [], [], int(time.time())
    expect = lambda condition, words: condition or faults.append(words)
    with tempfile.TemporaryDirectory() as folder:
        keys, secrets = Keys(folder), {name: f"canary{name}{os.urandom(16).hex()}" for name in ("stocks", "cfd", "prices", "payload", "file")}
        key, second = os.urandom(32).hex(), os.urandom(32).hex()
        secrets |= {"key": key, "second key": second}
        echo = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=echo.serve_forever, daemon=True).start()
        server = f"127.0.0.1:{echo.server_port}"
        with open(f"{folder}/jwks.json", "w") as file:
            json.dump(keys.set, file)
        with open(f"{folder}/secret", "w") as file:
            file.write(secrets["file"] + "\n")

        def configure(second_streams):
            digest = lambda text: hashlib.sha256(text.encode()).hexdigest()
            own = {"first": {"hash": digest(key), "streams": ["*"], "operations": ["read", "control", "refetch", "metrics"]}}
            if second_streams:
                own["second"] = {"hash": digest(second), "streams": second_streams}
            upstreams = {
                "stocks": {"kind": "intrinio", "url": f"http://{server}", "apiKey": "${STOCKS}"},
                "cfd": {"kind": "bux", "webSocket": f"ws://{server}/me", "http": f"http://{server}", "token": "${CFD}"},
                "prices": {"kind": "graphql", "webSocket": f"ws://{server}/graphql", "http": f"http://{server}/graphql",
                           "connectingPayload": {"authToken": "${PAYLOAD}"}, "headers": {"Authorization": "Bearer ${PRICES}", "X-File": "${file:%s/secret}" % folder},
                           "streams": {"quote": {"subscription": "subscription { a }", "path": "a", "snapshot": {"query": "query { a }", "path": "a"}}}}}
            with open(f"{folder}/gateway.new", "w") as file:
                json.dump({"keys": own, "upstreams": upstreams}, file)
            os.rename(f"{folder}/gateway.new", f"{folder}/gateway.yaml")

        configure(["*"])
        environment = [f"{name.upper()}={value}" for name, value in secrets.items() if name in ("stocks", "cfd", "prices", "payload")]
        venue = house.Exchange(options.executable)
        log = open(f"{folder}/log", "w+")
        settings = ["--config", f"{folder}/gateway.yaml", "--jwks", f"{folder}/jwks.json", "--jwt-issuer", "soak", "--jwt-audience", "gateway"]
        gateway = house.Gateway(options.executable, venue, *settings, "--log-level", "trace", "--log-format", "json", log=log, wrap=["env", *environment])

        def take(answer):
            shown.append(answer[1])
            return answer

        bearer = lambda token: {"Authorization": f"Bearer {token}"}
        good = {"exp": now + 600, "streams": ["*"], "iss": "soak", "aud": "gateway"}
        for words, token in {"RS256": keys.token(good), "ES256": keys.token(good, {"alg": "ES256", "kid": "e"}, "ec"), "the key": key}.items():
            secrets[words] = token
            status = take(asked(gateway, f"/streams/{STREAM}", bearer(token)))[0]
            expect(status == 200, f"a good {words} was answered {status}")
        wrong, refused = wrong_tokens(keys, now), 0
        for words, token in wrong.items():
            statuses = [take(asked(gateway, f"/streams/{STREAM}", bearer(token)))[0], take(asked(gateway, f"/events?streams={STREAM}", bearer(token)))[0],
                        take(asked(gateway, f"/streams/{STREAM}/refetch", bearer(token), "POST"))[0], take(asked(gateway, "/tickets", bearer(token), "POST"))[0]]
            is_refused = set(statuses) == ({431} if len(token) > 10_000 else {401})
            refused += is_refused
            expect(is_refused, f"a token {words} was answered {statuses}")
            if len(token) > 40:
                secrets[f"token {words}"] = token
        print(f"{refused} of {len(wrong)} bad tokens refused on four routes each")

        short = keys.token(good | {"exp": int(time.time()) + 4 - 30})
        text, lasted = follow(gateway, f"/events?streams={STREAM}", bearer(short), 20)
        expect('"expired"' in text and "event: update" in text and 1 < lasted < 8, f"a token's expiry ended its stream after {lasted:.1f} s with {text[-300:]}")
        print(f"a token expired mid-stream: bye after {lasted:.1f} s")

        status, answer = asked(gateway, "/tickets", bearer(key), "POST")
        ticket = json.loads(answer.partition("\n\n")[2].strip().splitlines()[-1])["ticket"]
        secrets["ticket"] = ticket
        first = follow(gateway, f"/events?streams={STREAM}&count=1&ticket={ticket}", {}, 10)[0]
        again = take(asked(gateway, f"/events?streams={STREAM}&count=1&ticket={ticket}"))[0]
        expect("event: session" in first and again == 401, f"a ticket was good for {again}: {first[-200:]}")

        for upstream in ("stocks:AAPL", "cfd:sb26493", "prices:@quote", "prices:A@quote"):
            take(asked(gateway, f"/streams/{upstream}", bearer(key)))
            shown.append(follow(gateway, f"/events?streams={upstream}", bearer(key), 3)[0])
            take(asked(gateway, f"/streams/{upstream}/status", bearer(key)))

        heard = []
        reader = threading.Thread(target=lambda: heard.extend(follow(gateway, f"/events?streams={STREAM}", bearer(second), 20)))
        reader.start()
        time.sleep(2)
        configure(None)
        gateway.signal(signal.SIGHUP)
        begin = time.monotonic()
        reader.join()
        expect('"revoked"' in heard[0], f"a revoked key's stream ended with {heard[0][-300:]}")
        expect(take(asked(gateway, f"/streams/{STREAM}", bearer(second)))[0] == 401, "a revoked key was let in")
        print(f"a key revoked by SIGHUP: its stream ended within {time.monotonic() - begin:.1f} s")

        for path in ("/metrics", "/streams", "/readyz", "/healthz", "/openapi.yaml", "/", "/nothing?ticket=" + ticket):
            take(asked(gateway, path, bearer(key)))
        # A name is said back to whoever asked for it, and to nobody else.
        asked(gateway, f"/streams/{key}", bearer(key))
        with open(f"/proc/{gateway.process.pid}/cmdline") as line:
            shown.append(line.read())
        for command in (["serve", *settings, "--print-config"], ["check-config", *settings], ["serve", *settings, "--port", "x"], ["hash-key"]):
            done = subprocess.run([options.executable, *command], env=os.environ | dict(pair.split("=", 1) for pair in environment),
                                  input=key if command == ["hash-key"] else None, capture_output=True, text=True)
            shown.append(done.stdout + done.stderr)
        exits = gateway.end(), venue.end()
        expect(exits == (0, 0), f"the programs ended with {exits}")
        log.seek(0)
        lines = log.read()
        shown.append(lines)
        everything = "\n".join(shown)
        found = sorted(name for name, secret in secrets.items() if secret and secret in everything)
        expect(not found, f"shown in some output: {found}")
        for name in found:
            place = everything.index(secrets[name])
            print(f"  {name}: …{everything[max(0, place - 200) : place + 20]!r}")
        expect(len(lines) > 1000, "the log is empty, so that it proves nothing")
        print(f"{len(secrets)} secrets looked for in {len(everything) >> 10} KiB of answers, log and command lines: {len(found)} found")
    for fault in faults:
        print("FAULT", fault)
    print("passed" if not faults else f"FAILED with {len(faults)} faults", flush=True)
    return not faults
