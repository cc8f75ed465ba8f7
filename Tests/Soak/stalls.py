"""Many streams stall on a socket that answers pings: the gateway opens few sockets for them, and when data flow again all come back together.

With `--control` the data come back six seconds after it is said that they do.
"""

import time

import cutter
import ear
import house
import verdict

KINDS = ("markPrice@1s", "markPrice@1s", "bookTicker", "miniTicker")
"""Every fourth symbol has the stream of that place: half of them come by the clock."""
SOCKETS = 3
BACK = 3
"""Seconds within which all streams are live again."""
SETTLE = 15


def main(options):
    exchange = house.Exchange(options.executable, "--symbols", options.symbols + 30, "--book-updates", 10, "--weight-limit", 100_000_000)
    venue = cutter.Cutter(exchange.host, exchange.port)
    gateway = house.Gateway(options.executable, venue, log=options.log)
    symbols = [symbol for symbol in exchange.symbols(2 * options.symbols) if "_" not in symbol][:options.symbols]
    streams = [f"{symbol.lower()}@{KINDS[place % len(KINDS)]}" for place, symbol in enumerate(symbols)]
    listener = ear.Ear(gateway, streams)
    faults = []
    came = lambda since: [stream for stream in streams if any(heard.is_data for heard in listener.of(stream, since))]
    until = time.monotonic() + 60
    while len(came(0)) < len(streams) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(SETTLE)
    calm = [stream for stream in streams if any(heard.tells for heard in listener.of(stream))]
    began, sockets = time.monotonic(), venue.open_web_sockets()
    exchange.fault("stall")
    time.sleep(options.seconds)
    told = [stream for stream in streams if any(heard.tells for heard in listener.of(stream, began))]
    while_stalled, returned = venue.most, time.monotonic()
    if options.control:
        time.sleep(BACK + 3)
    exchange.ask("POST", "/control/clear")
    live = lambda: [at for stream in streams if (at := back_at(listener.of(stream, began), returned))]
    while len(live()) < len(streams) and time.monotonic() < returned + 60:
        time.sleep(0.05)
    times = sorted(at - returned for at in live())
    time.sleep(2)
    print(f"{len(streams)} streams stalled for {options.seconds:.0f} s: {len(told)} told; {sockets} sockets before, at most {while_stalled} meanwhile, "
          f"{venue.most} with the return, {venue.open_web_sockets()} after; {len(venue.accepted)} connects")
    print(f"{len(times)} came back, the last {times[-1] if times else 0:.2f} s after the data's return")
    if calm:
        faults.append(f"{len(calm)} streams were told of something while all was well: {calm[:3]}")
    if len(told) < len(streams):
        faults.append(f"{len(streams) - len(told)} streams were not told of the stall: {sorted(set(streams) - set(told))[:3]}")
    if venue.most > SOCKETS:
        faults.append(f"{venue.most} sockets at a time (at most {SOCKETS})")
    late = len(streams) - sum(took <= BACK for took in times)
    if late:
        faults.append(f"{late} streams were not live within {BACK} s of the data's return")
    listener.end()
    if listener.lost:
        faults.append(f"the reader's connection ended: {listener.lost}")
    if (status := (gateway.end(), exchange.end())) != (0, 0):
        faults.append(f"the gateway and the exchange ended with {status}")
    return verdict.tell(faults)


def back_at(events, returned):
    """When a stream had data again and nothing was told against it any more; None before that."""
    against = max((place for place, heard in enumerate(events) if heard.tells), default=-1)
    after = [heard for heard in events[against + 1:] if heard.is_data and heard.at >= returned and heard.received >= returned - 0.1]
    is_told_back = against < 0 or any(heard.name == "recover" or heard.data.get("state") == "live" for heard in events[against + 1:])
    return after[0].at if after and is_told_back else None
