"""What the stamps of a server say: when each message was at which place of its way, microseconds from one place to the next."""

import struct

AWAKE, ARRIVED, READ, ASKED, SIGNALLED, SENDING, SENT = range(1, 8)
MONOTONIC, COARSE = 1, 5
"""The clocks. The gateway asks the first one when it has read a socket, which is the `received` of its `timings`, and when it steps the core with a
decoded message. It asks the second one when the message is merged and its event is encoded."""

CAPACITY = 1 << 20
RECORD = struct.Struct("<QqIHH")
BYTES = 8 + CAPACITY * RECORD.size
PLACES = ["arrived", "awake", "read", "received", "decoded", "encoded", "signalled", "sender awake", "sending", "sent", "at the reader"]
HOPS = {
    "awake": "the packet is there → the feed's thread is awake",
    "read": "→ its bytes are read",
    "received": "→ the pipeline has them (`received` of `timings`)",
    "decoded": "→ the message is parsed and decoded",
    "encoded": "→ it is merged and its event is encoded",
    "signalled": "→ it is in the ring, and the fan-out's thread is signalled",
    "sender awake": "→ the fan-out's thread is awake",
    "sending": "→ the send begins",
    "sent": "→ the kernel has the event",
    "at the reader": "→ the reader has it",
}


def records(data):
    count = min(struct.unpack_from("<Q", data)[0], CAPACITY)
    return sorted(RECORD.iter_unpack(data[8:8 + count * RECORD.size]))


def chains(stamps, received, head):
    """The times of each message's places, by their names, and how many messages shared a read with others and are left out.

    `received` are the reader's reads in order: the time, and how many bytes it had then. The first `head` bytes were not sent by `sendmsg`.
    """
    sizes = [value for _, value, _, kind, _ in stamps if kind == READ]
    if not sizes:
        return [], 0
    usual = max(set(sizes), key=sizes.count)
    feed = next(thread for _, _, thread, kind, _ in stamps if kind == READ)
    sockets = [descriptor for _, value, _, kind, descriptor in stamps if kind == SENT and value > 0]
    reader = max(set(sockets), key=sockets.count)
    found, shared, taken, place = [], 0, 0, 0
    awake, chain = {}, None
    for at, value, thread, kind, descriptor in stamps:
        if kind == AWAKE:
            awake[thread] = at
        elif kind == ARRIVED:
            alone = value < 1.5 * usual
            chain = {"arrived": at} if thread == feed and alone else None
            shared += not alone
        elif kind == SENT and descriptor == reader:
            taken += value
            while place < len(received) and received[place][1] - head < taken:
                place += 1
            if chain and "sending" in chain:
                chain["sent"] = at
                if place < len(received):
                    chain["at the reader"] = received[place][0]
                found.append(chain)
            chain = None
        elif not chain:
            pass
        elif kind == READ and thread == feed:
            chain |= {"awake": awake.get(thread, at), "read": at}
        elif kind == ASKED and thread == feed and "read" in chain and "sending" not in chain:
            if descriptor == MONOTONIC:
                chain.setdefault("decoded" if "received" in chain else "received", at)
            elif descriptor == COARSE:
                chain.setdefault("encoded", at)
        elif kind == SIGNALLED and thread == feed:
            chain.setdefault("signalled", at)
            chain.setdefault("signalling", value)
        elif kind == SENDING and descriptor == reader:
            chain["sending"] = at
            if thread != feed:
                chain["sender awake"] = max(awake.get(thread, at), chain.get("signalled", 0))
    return found, shared


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def summary(found):
    """By the name of a place: the share of messages that came by, p50 and p99 of the hop to it; and of the whole ways to the send and to the reader."""
    hops = {}
    for chain in found:
        last = "arrived"
        for place in PLACES[1:]:
            if place in chain:
                hops.setdefault(place, []).append((chain[place] - chain[last]) / 1000)
                last = place
    told = {place: (len(values) / len(found), quantile(values, 0.5), quantile(values, 0.99)) for place, values in hops.items()}
    if signals := [chain["signalling"] / 1000 for chain in found if "signalling" in chain]:
        told["call that signals"] = (len(signals) / len(found), quantile(signals, 0.5), quantile(signals, 0.99))
    for name in ("received", "sending", "sent", "at the reader"):
        whole = [(chain[name] - chain["arrived"]) / 1000 for chain in found if name in chain]
        if whole:
            told["whole way to: " + name] = (len(whole) / len(found), quantile(whole, 0.5), quantile(whole, 0.99))
    return told
