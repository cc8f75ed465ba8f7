"""The requests that clients send over a socket, and the venue's answers (docs/reference/venues.md §4)."""

import json
import time

import peer

ROUTES = ("", "/public", "/market", "/private", "/fstream")
IDS = [0, 1, -1, 312, (1 << 53) + 1, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1, "", "a", "07bd4f1a-4c5f-4f0d-9a7c-0b0d6c0e6b8c", "x" * 36,
       "é€" * 18, 'quo"te\\', None]
WRONG_IDS = ["x" * 37, 1.5, True, [1], {}, 1 << 64]
UNKNOWN = ["nosuchusdt@aggTrade", "btcusdt@nosuch", "BTCUSDT@aggTrade", "btcusdt@depth@250ms", "x", "btcusdt@kline_7m"]


class Talk:
    """One socket on which requests and answers alternate. Keeps to the venue's ten messages per second."""

    def __init__(self, gateway, path):
        self.socket = peer.Socket(gateway.host, gateway.port, path)
        self.path, self.data, self.sent = path, [], []

    def say(self, text, seconds=3):
        """The answer to a text, which is the first message that is no data."""
        if len(self.sent) >= 8:
            time.sleep(max(0, self.sent[-8] + 2.02 - time.monotonic()))
        self.sent.append(time.monotonic())
        self.socket.send(peer.TEXT, text if isinstance(text, bytes) else text.encode())
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.socket.is_open:
            answer = None
            for one in self.socket.wait(0.2):
                if one.opcode != peer.TEXT:
                    continue
                if is_data(one.payload):
                    self.data.append(one.payload)
                else:
                    answer = one.payload
            if answer is not None:
                return answer
        return b""

    def listen(self, seconds):
        """The data that arrive."""
        self.data = []
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.socket.is_open:
            self.data += [one.payload for one in self.socket.wait(left) if one.opcode == peer.TEXT]
        return self.data


def is_data(payload):
    return payload.startswith((b'{"e":', b'{"stream":', b"["))


def request(method, params=None, **members):
    return json.dumps({"method": method} | ({} if params is None else {"params": params}) | members, ensure_ascii=False)


class Checks:
    def __init__(self, stage):
        self.stage, self.faults, self.count = stage, [], 0

    def expect(self, condition, words):
        self.count += 1
        if not condition:
            self.faults.append(words)

    def same(self, path, sent, got, wanted):
        self.expect(got == wanted, f"{path}: {sent!r} is answered {got!r} for {wanted!r}")

    def ids(self, path):
        talk = Talk(self.stage.gateway, path)
        for identifier in IDS:
            text = request("LIST_SUBSCRIPTIONS", id=identifier)
            got = talk.say(text)
            self.expect(parsed(got) == {"result": [], "id": identifier} and b'"result"' in got, f"{path}: {text!r} is answered {got!r}")
        text = request("SUBSCRIBE", ["nosuchusdt@trade"])
        self.same(path, text, talk.say(text), b'{"result":null,"id":null}')
        for identifier in WRONG_IDS:
            text = request("LIST_SUBSCRIPTIONS", id=identifier)
            self.error(path, text, talk.say(text), 2)
        self.expect(talk.socket.is_open, f"{path}: the socket ends after wrong ids: {talk.socket.closed or talk.socket.ended}")
        talk.socket.close()

    def error(self, path, sent, got, code, identifier=None):
        """An error in the form of the path: bare, or in a member `error` below a route of 2026."""
        body = parsed(got)
        inner = body.get("error") if isinstance(body, dict) and path.startswith(("/public", "/market", "/private")) else body
        right = isinstance(inner, dict) and inner.get("code") == code and isinstance(inner.get("msg"), str) and "result" not in body
        if right and inner is not body:
            right = body.get("id") == identifier
        self.expect(right, f"{path}: {sent!r} is answered {got!r}, not an error {code}")

    def subscriptions(self, path, names):
        talk = Talk(self.stage.gateway, path)
        self.same(path, "SUBSCRIBE", talk.say(request("SUBSCRIBE", names, id=7)), b'{"result":null,"id":7}')
        got = parsed(talk.say(request("LIST_SUBSCRIPTIONS", id="l")))
        self.expect(got.get("id") == "l" and sorted(got.get("result") or []) == sorted(names), f"{path}: LIST_SUBSCRIPTIONS is {got} for {names}")
        self.expect(talk.listen(4), f"{path}: no data of {names} within 4 s")
        # A repeated name is no second subscription.
        self.same(path, "SUBSCRIBE again", talk.say(request("SUBSCRIBE", names[:1], id=8)), b'{"result":null,"id":8}')
        self.same(path, "UNSUBSCRIBE", talk.say(request("UNSUBSCRIBE", names, id=9)), b'{"result":null,"id":9}')
        got = talk.say(request("LIST_SUBSCRIPTIONS", id=10))
        self.same(path, "LIST_SUBSCRIPTIONS", got, b'{"result":[],"id":10}')
        late = talk.listen(1.5)
        self.expect(not late, f"{path}: data arrive after UNSUBSCRIBE: {late[:1]}")
        talk.socket.close()

    def unknown(self, path):
        talk = Talk(self.stage.gateway, path)
        for name in UNKNOWN:
            text = request("SUBSCRIBE", [name], id=3)
            self.same(path, text, talk.say(text), b'{"result":null,"id":3}')
        got = parsed(talk.say(request("LIST_SUBSCRIPTIONS", id=4)))
        self.expect(sorted(got.get("result") or []) == sorted(UNKNOWN), f"{path}: unknown names are not listed: {got}")
        data = talk.data + talk.listen(2)
        self.expect(not data, f"{path}: unknown names bring data: {data[:1]}")
        talk.socket.close()

    def property(self, path):
        begins = "/stream" in path
        name = self.stage.symbols[0].lower() + "@depth@100ms"
        talk = Talk(self.stage.gateway, path)
        talk.say(request("SUBSCRIBE", [name], id=1))
        state = begins
        for wanted in (not begins, not begins, begins):
            got = talk.say(request("GET_PROPERTY", ["combined"], id=2))
            self.same(path, "GET_PROPERTY", got, b'{"result":%s,"id":2}' % (b"true" if state else b"false"))
            got = talk.say(request("SET_PROPERTY", ["combined", wanted], id=5))
            self.same(path, f"SET_PROPERTY {wanted}", got, b'{"result":null,"id":5}')
            state = wanted
            data = talk.listen(1.5)
            start = b'{"stream":"%s","data":{' % name.encode() if state else b'{"e":"depthUpdate"'
            self.expect(data and all(one.startswith(start) for one in data),
                        f"{path}: combined={state}, but data are {[one[:60] for one in data[:3]]}")
            events = [json.loads(one) for one in data]
            events = [event.get("data", event) for event in events]
            chain = all(later["pu"] == earlier["u"] for earlier, later in zip(events, events[1:]))
            self.expect(chain, f"{path}: events are missing after SET_PROPERTY")
        for params, code in ((["combined", 1], 1), (["combined", "true"], 1), (["combined"], 1), (["other", True], 0), ([], 2), ([1, True], 2),
                             (["combined", True, 1], 2)):
            text = request("SET_PROPERTY", params, id=6)
            self.error(path, text, talk.say(text), code, 6)
        text = request("GET_PROPERTY", ["other"], id=6)
        self.error(path, text, talk.say(text), 0, 6)
        talk.socket.close()

    def errors(self, path):
        talk = Talk(self.stage.gateway, path)
        for text, code, identifier in (
            ("", 3, None), ("x", 3, None), ('{"method":', 3, None), ('{"method":"SUBSCRIBE","params":["a@b"],"id":1}}', 3, None), ("[]", 2, None),
            ("1", 2, None), ("null", 2, None), ("{}", 2, None), ('{"id":4}', 2, 4), ('{"method":"NOSUCH","id":5}', 2, 5),
            ('{"method":7,"id":5}', 2, 5),
            ('{"method":"SUBSCRIBE","id":6}', 2, 6), ('{"method":"SUBSCRIBE","params":"btcusdt@trade","id":6}', 2, 6),
            ('{"method":"SUBSCRIBE","params":[1],"id":6}', 2, 6), ('{"method":"UNSUBSCRIBE","params":[null],"id":"s"}', 2, "s"),
        ):
            self.error(path, text, talk.say(text), code, identifier)
        self.same(path, "LIST after errors", talk.say(request("LIST_SUBSCRIPTIONS", id=1)), b'{"result":[],"id":1}')
        talk.socket.close()

    def crowd(self, path, phase):
        """Eleven messages within a second end the socket; ten do not."""
        talk = Talk(self.stage.gateway, path)
        time.sleep(phase)
        for number in range(10):
            talk.socket.ask("LIST_SUBSCRIPTIONS", id=number)
            time.sleep(0.04)
        talk.listen(0.05)
        self.expect(talk.socket.is_open, f"{path}: ten messages within 0.4 s end the socket: {talk.socket.closed}")
        talk.socket.ask("LIST_SUBSCRIPTIONS", id=10)
        talk.socket.until_end(3)
        code = talk.socket.closed and talk.socket.closed[0]
        self.expect(code == 1008, f"{path}: eleven messages within 0.5 s, begun {phase:.2f} s after the handshake: "
                    f"closed is {talk.socket.closed}, not 1008")
        talk.socket.close()

    def pings(self, path):
        talk = Talk(self.stage.gateway, path)
        for payload in (b"", b"hi", bytes(range(125))):
            talk.socket.send(peer.PING, payload)
            pongs = [one.payload for one in talk.socket.wait(2) if one.opcode == peer.PONG]
            self.expect(pongs == [payload], f"{path}: a ping {payload!r} is answered {pongs}")
        talk.socket.send(peer.PONG, b"unsolicited")
        self.same(path, "LIST after a pong", talk.say(request("LIST_SUBSCRIPTIONS", id=1)), b'{"result":[],"id":1}')
        text = request("LIST_SUBSCRIPTIONS", id=2).encode()
        for part in (peer.frame(peer.TEXT, text[:5], fin=False), peer.frame(peer.PING, b"between"), peer.frame(peer.CONTINUATION, b"", fin=False),
                     peer.frame(peer.CONTINUATION, text[5:])):
            talk.socket.send_bytes(part)
        frames = []
        while one := talk.socket.wait(0.5):
            frames += [(frame.opcode, frame.payload) for frame in one]
        wanted = [(peer.PONG, b"between"), (peer.TEXT, b'{"result":[],"id":2}')]
        self.expect(frames == wanted, f"{path}: a message in fragments with a ping between them is answered {frames}")
        talk.socket.send(peer.CLOSE, (1000).to_bytes(2, "big") + b"bye")
        talk.socket.until_end(3)
        self.expect(talk.socket.closed is not None and talk.socket.closed[0] == 1000, f"{path}: a close is answered {talk.socket.closed}")
        talk.socket.close()


def parsed(payload):
    try:
        return json.loads(payload)
    except ValueError:
        return {}


def check(stage):
    checks, dice = Checks(stage), stage.dice
    first = stage.symbols[0].lower()
    names = [f"{first}@bookTicker", f"{first}@depth@100ms", f"{first}@markPrice@1s"]
    for route in ROUTES:
        checks.subscriptions(route + dice.choice(("/ws", "/ws/3", "/stream", "/stream/12")), names)
    for path in ("/ws", dice.choice(("/public/stream", "/market/ws/0", "/private/stream"))):
        checks.ids(path)
        checks.errors(path)
    for path in ("/ws", "/market/stream"):
        checks.property(path)
        checks.unknown(path)
        checks.pings(path)
    for _ in range(6):
        checks.crowd("/ws", dice.uniform(0, 1))
    print(f"messages: {checks.count} expectations, {len(checks.faults)} not met", flush=True)
    return checks.faults
