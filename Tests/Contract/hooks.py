"""For schemathesis: streams end by themselves, and half of the control requests are for a client that lives."""

import os
import random

import schemathesis

LIVE = [client for client in os.environ.get("LIVE_CLIENTS", "").split(",") if client]


@schemathesis.hook
def map_query(context, query):
    if context.operation.path == "/events" and query is not None:
        query = dict(query)
        # A stream without an end would hold up everything after it.
        query["timeout"] = query.get("timeout") if str(query.get("timeout")) == "1" else "1"
    if context.operation.path == "/streams/{name}" and query and "depth" in query:
        # Allowed for books alone, which a document cannot say of another parameter.
        query = {name: value for name, value in query.items() if name != "depth"}
    return query


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if path_parameters and "client" in path_parameters and LIVE and context.operation.method.upper() != "DELETE":
        if random.random() < 0.5:
            path_parameters["client"] = random.choice(LIVE)
    return path_parameters
