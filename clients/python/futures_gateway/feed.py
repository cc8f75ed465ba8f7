"""Streams of a gateway: events in order, merged contents, exact resume."""

import asyncio
import importlib
import json
import math
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, suppress
from decimal import Decimal
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from .content import StreamContent, rule_for

Code = Literal["badArgument", "unreachable", "notAGateway", "unauthorized", "forbidden", "unknownStream", "nothingYet", "ended", "limited",
               "unavailable", "refused", "noFrames"]  # fmt: skip
_CODES: dict[int, Code] = {204: "ended", 401: "unauthorized", 403: "forbidden", 404: "unknownStream", 410: "ended", 429: "limited"}
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_PIECE, _LONGEST, _SILENCE = 1 << 16, 1 << 26, 40.0
"""Bytes read at once, bytes of the longest answer or line, and seconds after which a connection counts as lost: a heartbeat comes after fifteen."""


def _clock() -> float:
    """Seconds of a clock that also counts while the computer sleeps, if the system has one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class FeedError(Exception):
    """Why a request failed: a sentence that says what to do, a `code`, and the HTTP `status` if the gateway answered."""

    def __init__(self, code: Code, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.code: Code = code
        self.status = status


class Event(NamedTuple):
    """One event by its name and data, as events.md has them; `lost`, with `reason` and `retryMs`, is the feed's own. With `update` and `fetch`,
    `content` is the stream's whole content with all changes merged; it never changes. `stream` is empty for events of the connection."""

    name: str
    data: dict[str, Any]
    content: Any = None
    stream: str = ""


class Feed(Iterator[Event], AsyncIterator[Event], AbstractContextManager["Feed"], AbstractAsyncContextManager["Feed"]):
    """Reads streams of a gateway: an iterator and an asynchronous iterator of `Event`s, for one loop at a time. If the first connection fails, the
    loop raises `FeedError`. Afterwards each loss is told as `lost`, and the feed goes on where it was: `session` says whether `exact`, or with a
    `reset`, after which every stream begins with its snapshot. What is permanent raises `FeedError`.

    `url`: where the gateway is. `streams`: names, at most 200. `credential`: a key or token, or a function that gives one for each request. `tls`:
    which certificates are trusted, by default those that the system trusts."""

    def __init__(self, url: str, *streams: str, credential: str | Callable[[], str] | None = None, tls: ssl.SSLContext | None = None) -> None:
        try:
            parts = urlsplit(url)
            self._host, self._port = (parts.hostname or "").encode("idna").decode(), parts.port
            if parts.scheme not in ("http", "https") or not self._host or parts.query or parts.fragment or parts.username is not None:
                raise ValueError("http or https, a host, no user and no query")
        except (ValueError, TypeError, AttributeError) as error:
            raise FeedError("badArgument", f"{url!r} is not a gateway's address; give one such as http://127.0.0.1:8080 ({error}).") from error
        self._url, self._path, self._credential, self._names = url, parts.path.rstrip("/"), credential, _list(streams)
        self._make: Any = partial(HTTPSConnection, context=tls) if parts.scheme == "https" else HTTPConnection
        self._streams: dict[str, StreamContent] = {}
        self._broken: set[str] = set()  # Streams whose changes do not follow what is here.
        self._listing: dict[str, Any] = {}
        self._listed: dict[tuple[str, str], tuple[int | None, int | None, float]] = {}
        self._line: tuple[HTTPResponse, socket.socket] | None = None
        self._opening: Any = None  # The request that opens the connection.
        self._pending: deque[tuple[str, str, str]] = deque()
        self._rest, self._fields, self._last_id, self._client = b"", dict[str, str](), "", ""
        self._retry_ms, self._retry_at, self._renew_at, self._heard_at = 2000, 0.0, 0.0, 0.0
        self._unread = 0.0  # Missed events that have not arrived; infinite before `session` and `live`.
        self._is_suspended, self._is_hung_up, self._nudged = False, False, threading.Event()
        self._closing, self._reading = threading.Event(), threading.Lock()
        self._job: Future[None] | None = None

    def __next__(self) -> Event:
        while not self._closing.is_set():
            if event := self._next():
                return event
            self._read()
        raise StopIteration

    async def __anext__(self) -> Event:
        while not self._closing.is_set():
            if event := self._next():
                return event
            # A thread waits for the network. What it reads while nobody awaits it is kept.
            if self._job is None or self._job.done():
                self._job = Future()
                self._job.set_running_or_notify_cancel()
                threading.Thread(target=self._work, args=[self._job], daemon=True).start()
            await asyncio.wrap_future(self._job)
        raise StopAsyncIteration

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection and the loop, from any thread."""
        self._closing.set()
        self._hang_up()
        self._drop()

    def suspend(self) -> None:
        """Ends the connection until `resume`, from any thread. Until all missed events have arrived, every state is `lost`."""
        self._is_suspended = True
        self._hang_up()

    def resume(self) -> None:
        """Connects immediately after `suspend`, from any thread; otherwise it does nothing."""
        if self._is_suspended:
            self._is_suspended = False
            self._nudged.set()

    def _hang_up(self) -> None:
        self._is_hung_up, self._retry_at = True, 0.0
        self._nudged.set()
        for one in (self._line and self._line[1], self._opening and self._opening.sock):
            if one:
                with suppress(OSError):
                    socket.socket.shutdown(one, socket.SHUT_RDWR)

    def get(self, name: str) -> Any:
        """The content of a stream that this feed reads, with all changes merged; None before its first snapshot."""
        return self._streams[name].value if name in self._streams else None

    def status(self, name: str) -> dict[str, Any]:
        """The freshness of that content: its `id`, `state` as the gateway reports it or `lost`, `ageMs`, `unverifiedMs`; None before any data."""
        stream = self._streams.get(name) or StreamContent({})
        *times, at = stream.times
        age, unverified = (None if ms is None else ms + int((_clock() - at) * 1000) for ms in times)
        is_heard = self._line and not self._is_hung_up and _clock() - self._heard_at < _SILENCE
        is_here = is_heard and not self._unread or not stream.id
        return {"stream": name, "id": stream.id, "state": stream.state if is_here else "lost", "ageMs": age, "unverifiedMs": unverified}

    def snapshot(self, name: str, *, depth: int = 0, max_age: int = 0, max_unverified: int = 0, wait: int = 0) -> dict[str, Any]:
        """A stream's snapshot, as `GET /streams/NAME` returns it; blocks. `depth`: levels of a book. `max_age`, `max_unverified`: milliseconds beyond
        which it is `unavailable`. `wait`: seconds for the first content, at most 30. Zero means that the gateway decides."""
        wishes = {"depth": depth, "maxAge": max_age, "maxUnverified": max_unverified, "wait": wait}
        return self._ask("GET", f"/streams/{_list([name])}?{urlencode({key: value for key, value in wishes.items() if value})}")

    def ticket(self) -> str:
        """A ticket that opens one connection to `/events` within a minute, for a page that must not see the credential; blocks."""
        return str(self._ask("POST", "/tickets")["ticket"])

    def book(self, name: str, levels: int = 20) -> dict[str, Any]:
        """The best levels of a book that this feed reads, otherwise of a snapshot, for which it blocks: `bids`, `asks`, `lastUpdateId`, status."""
        content = (snapshot := self._current(name)).pop("content")
        if not (isinstance(content, dict) and "bids" in content):
            raise FeedError("badArgument", f"{name} is no order book; ask for one such as btcusdt@depth.")
        return snapshot | {"lastUpdateId": content["lastUpdateId"], "bids": content["bids"][:levels], "asks": content["asks"][:levels]}

    def frame(self, name: str) -> Any:
        """A polars DataFrame, or one of pandas if polars is not installed, of what this feed has read of a stream, or else of a snapshot, for which
        it blocks. It has the content's rows, or a book's levels; prices stay strings."""
        rows: Any = self._current(name)["content"]
        if hasattr(rows, "keys") and "bids" in rows:
            rows = [{"side": side, "price": price, "quantity": quantity} for side in ("bids", "asks") for price, quantity in rows[side]]
        for library, options in (("polars", {"infer_schema_length": None}), ("pandas", {})):
            with suppress(ImportError):
                return importlib.import_module(library).DataFrame([rows] if isinstance(rows, dict) else rows, **options)
        raise FeedError("noFrames", "A frame needs polars or pandas; install one of them, or use get().")

    def _current(self, name: str) -> dict[str, Any]:
        content = self.get(name)
        return self.snapshot(name) if content is None else self.status(name) | {"content": content}

    @contextmanager
    def _told(self) -> Generator[None]:
        """Turns an error into a sentence."""
        try:
            yield
        except (OSError, HTTPException) as error:
            raise FeedError("unreachable", f"{self._url} does not answer ({error!r}). Start the gateway, or give its address.") from error
        except _UNREADABLE as error:
            self._drop()
            raise FeedError("notAGateway", f"What {self._url} sends cannot be read ({error!r}). Give the gateway's address.") from error

    def _send(self, method: str, path: str, kind: str, headers: dict[str, str], *, opens: bool = False) -> tuple[HTTPResponse, socket.socket]:
        """The response and its socket; raises unless it is a success of this media type. `opens`: it is a part of opening the connection."""
        key = str(self._credential() if callable(self._credential) else self._credential or "")
        if not (key.isascii() and key.isprintable()):
            raise FeedError("badArgument", "A credential is a line of ASCII; give the key or token as it was issued.")
        with self._told():
            line: HTTPConnection = self._make(self._host, self._port, timeout=_SILENCE)
            self._opening = line if opens else self._opening
            line.request(method, self._path + path, headers=headers | {"Accept": kind} | ({"Authorization": f"Bearer {key}"} if key else {}))
            opened: socket.socket = line.sock
            response = line.getresponse()
            body = b"" if response.status == 200 else response.read(_PIECE)
        if (status := response.status) != 200:
            line.close()
            is_quiet = status == 204 and method == "GET" and kind == "application/json"
            nothing = "Nothing has happened in the stream yet; wait." if is_quiet else "Every stream has ended; ask for others."
            problem: dict[str, Any] = {"detail": nothing if status == 204 else "Check the address."}
            with suppress(*_UNREADABLE):
                problem |= json.loads(body)
            code = "nothingYet" if is_quiet else _CODES.get(status, "unavailable" if status >= 500 else "refused")
            raise FeedError(code, f"The gateway at {self._url} answers {status}. {problem['detail']}", status)
        if not response.headers.get("Content-Type", "").startswith(kind):
            raise FeedError("notAGateway", f"What answers at {self._url} is no gateway. Give the gateway's address.")
        return response, opened

    def _ask(self, method: str, path: str, *, opens: bool = False) -> dict[str, Any]:
        response, opened = self._send(method, path, "application/json", {}, opens=opens)
        with opened, response, self._told():
            answer: dict[str, Any] = dict(json.loads(response.read(_LONGEST), parse_float=Decimal))
        return answer

    def _work(self, job: Future[None]) -> None:
        try:
            self._read()
            job.set_result(None)
        except BaseException as error:
            job.set_exception(error)

    def _read(self) -> None:
        """Waits for the next piece of the connection, and opens it before if there is none; blocks. Its events go into `_pending`."""
        if not self._reading.acquire(blocking=False):
            raise FeedError("badArgument", "Another loop reads this feed; make a Feed for each loop.")
        try:
            with self._told():
                if not self._line:
                    self._wait()
                    if not self._closing.is_set():
                        self._open()
                elif self._broken and not self._unread and time.monotonic() >= self._renew_at:
                    self._renew()
                if self._line and not self._closing.is_set():
                    self._parse(self._line[0].read1(_PIECE))
        except FeedError as error:
            self._drop()
            is_asked = self._closing.is_set() or self._is_hung_up
            if not is_asked and not (self._client and error.code in ("unreachable", "limited", "unavailable")):
                raise
            reason, wait = ("The program ended the connection.", 0) if is_asked else (str(error), self._retry_ms)
            self._retry_at = time.monotonic() + wait / 1000
            self._pending.append(("lost", json.dumps({"reason": reason, "retryMs": wait}), ""))
        finally:
            if self._closing.is_set():
                self._drop()
            self._reading.release()

    def _wait(self) -> None:
        """Waits until a connection may be opened."""
        while not self._closing.is_set() and (self._is_suspended or time.monotonic() < self._retry_at):
            self._nudged.wait(None if self._is_suspended else max(0.0, self._retry_at - time.monotonic()))
            self._nudged.clear()

    def _open(self) -> None:
        self._is_hung_up = False
        if not self._names:
            raise FeedError("badArgument", "There is nothing to read; give Feed the names of streams.")
        self._listing, now = self._ask("GET", "/streams", opens=True), _clock()
        self._listed = {(one["stream"], one.get("id")): (one.get("ageMs"), one.get("unverifiedMs"), now) for one in self._listing["active"]}
        resume, path = {"Last-Event-ID": self._last_id} if self._last_id else {}, f"/events?streams={self._names}"
        self._unread = math.inf
        self._line = self._send("GET", path, "text/event-stream", resume, opens=True)
        self._rest, self._fields, self._opening = b"", {}, None
        if self._is_hung_up or self._is_suspended:
            raise ConnectionError("the program ended it")

    def _renew(self) -> None:
        """Resubscribes streams whose changes do not follow, so that they start with their snapshots. If that fails, all streams start over."""
        names, self._renew_at = _list(self._broken), time.monotonic() + 1
        self._broken.clear()
        try:
            for action in ("unsubscribe", "subscribe"):
                self._ask("POST", f"/events/{self._client}/{action}?streams={names}")
        except FeedError as error:
            self._last_id = ""
            raise FeedError("unavailable", str(error)) from error

    def _drop(self) -> None:
        line, self._line = self._line, None
        for one in line or ():
            one.close()

    def _parse(self, piece: bytes) -> None:
        """Adds the events that a piece completes (WHATWG HTML 9.2); an empty piece means the end of the connection."""
        if not piece or len(self._rest) > _LONGEST:
            raise ConnectionError("a line without an end" if piece else "it ended")
        self._heard_at = _clock()
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            field, _, text = line.decode().removesuffix("\r").partition(":")
            if field:
                self._fields[field] = text.removeprefix(" ")
            elif not line.strip():
                fields, self._fields = self._fields, {}
                self._retry_ms = int(fields.get("retry", self._retry_ms))
                if "data" in fields:
                    self._pending.append((fields["event"], fields["data"], fields.get("id", "")))

    def _next(self) -> Event | None:
        while self._pending:
            name, data, identity = self._pending.popleft()
            with self._told():
                content = json.loads(data, parse_float=Decimal)
                event = self._take(name, content, identity)
                if name not in ("session", "bye", "lost"):
                    self._unread = 0 if name == "live" else max(0, self._unread - (content["dropped"] if name == "gap" else 1))
                if event:
                    return event
        return None

    def _take(self, name: str, data: dict[str, Any], identity: str) -> Event | None:
        """Merges an event's data; None if the data is not new or cannot be merged."""
        self._last_id = identity or self._last_id
        if name == "session":
            self._client = data["client"]
            self._unread = 0 if data["resume"] != "exact" else math.inf if "replay" in data else data.get("replayed", 0)
            if data["resume"] != "exact":
                # With the old id, the next connection could be exact without the contents of that time.
                self._streams, self._broken, self._last_id = {}, set(), ""
        elif name == "bye":
            self._drop()
            self._retry_at = time.monotonic() + data["retryMs"] / 1000
        if not (key := data.get("stream", "")):
            return Event(name, data)
        stream = self._streams.get(key) or StreamContent(rule_for(self._listing["catalogue"], key))
        if "kind" in data and stream.has(data):
            return None
        is_whole = name != "gap" and ("kind" not in data or stream.apply(data))
        stream = stream if is_whole else StreamContent(stream.rule)
        if not is_whole or stream.is_thin:
            self._broken.add(key)
        elif data.get("kind") == "full":
            self._broken.discard(key)
        self._streams[key], stream.state = stream, data.get("state", stream.state)
        if "ageMs" in data:
            stream.times = (data["ageMs"], data["unverifiedMs"], _clock())
        elif "kind" in data:
            # What is replayed was new before this connection.
            stream.times = self._listed.get((key, data["id"]), (0, 0, _clock()))
        return Event(name, data, stream.value if "kind" in data else None, key) if is_whole or name == "gap" else None


def _list(names: Iterable[str]) -> str:
    """Names for a URL, each once."""
    try:
        return ",".join(quote(name, safe="") for name in dict.fromkeys(names))
    except (ValueError, TypeError) as error:
        raise FeedError("badArgument", f"{names!r} are no names of streams; give some such as btcusdt@markPrice.") from error
