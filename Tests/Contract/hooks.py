"""For schemathesis: streams end by themselves, and half of the control requests are for a client that lives."""

import os
import random
import re
import socket
import threading

import schemathesis
from schemathesis.core import NOT_SET

HOST, PORT = os.environ["GATEWAY"].split(":")


def live_client():
    """The id of a reader that lives as long as this process, or until it is deleted."""
    reader = socket.create_connection((HOST, int(PORT)))
    reader.sendall(b"GET /events?streams=btcusdt@kline_1d HTTP/1.1\r\nHost: localhost\r\n\r\n")
    text = b""
    while not (found := re.search(rb'"client":"(\w+)"', text)):
        text += reader.recv(4096)

    def drain():
        while reader.recv(65536):
            pass

    threading.Thread(target=drain, daemon=True).start()
    return found[1].decode()


LIVE = [live_client() for _ in range(4)]


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """OpenAPI 3.2 has `itemSchema` for what comes in items; 3.1, which generators read, has nothing."""
    for body in raw_schema["paths"]["/events"]["get"]["responses"]["200"]["content"].values():
        body["itemSchema"] = body.pop("x-itemSchema")
        del body["schema"]


def as_listed(name, query):
    """A document cannot say what the venue lists, and that a window ends after it begins, is not too long and not too long ago."""
    for parameter in ("symbol", "pair"):
        if parameter in query:
            query[parameter] = {"assetIndex": "BTCUSD", "indexInfo": "DEFIUSDT"}.get(name, "BTCUSDT")
    query.pop("startTime", None)


@schemathesis.hook
def before_call(context, case, kwargs):
    path, method = case.operation.path, case.operation.method.upper()
    query = case.query
    if case.method.upper() != method and case.method.upper() in ("GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"):
        # With the body of another method such a request is refused (400) before anybody looks whether the resource has the method.
        case.body = NOT_SET
    if path == "/events" and query is not None and str(query.get("timeout")).isdigit() and query["timeout"] != "1":
        # A stream of many seconds would hold up everything after it.
        query["timeout"] = "1"
    if path == "/events" and query is not None and "timeout" not in query:
        query["timeout"] = "1"
    if path == "/events" and query is not None:
        # What is played and what is live take different parameters, which a document cannot say; this gateway plays nothing.
        for parameter in ("from", "to", "speed"):
            query.pop(parameter, None)
    if path == "/streams/{name}" and query and "depth" in query:
        # Allowed for books alone, which a document cannot say of another parameter.
        del query["depth"]
    if query and path.startswith(("/fapi/", "/futures/")):
        as_listed(path.rsplit("/", 1)[1], query)
    if case.path_parameters and "client" in case.path_parameters and random.random() < 0.5:
        case.path_parameters["client"] = live_client() if method == "DELETE" else random.choice(LIVE)
