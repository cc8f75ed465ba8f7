"""One reader's view of one stream: what the contract says of events, whatever they carry."""

EVENTS = {"update", "fetch", "connect", "disconnect", "status", "recover", "gap"}
TOTALS = ("disconnects", "outages", "recoveries", "jumps", "failures", "statuses", "skips")


class Fault(Exception):
    """An event that breaks the contract."""


class Follower:
    """Follows one stream of one connection and raises Fault at the first event that breaks the contract.

    An outage begins with a disconnect, or with the state `recovering`, and ends with one recover, after which complete data comes first.
    """

    begins_anew = False
    """Whether new messages arrive before the missed ones are known: a snapshot of the newest, then updates, all within the outage."""

    def __init__(self, stream):
        self.stream = stream
        self.position = None
        """The venue's own number of the newest data."""
        self.needs_full = True
        self.in_outage = self.began_anew = False
        self.connected = None
        self.disconnects = self.outages = self.recoveries = self.failures = self.statuses = 0
        self.jumps = 0
        """Complete data that skipped something outside of an outage."""

        self.down = []
        """Milliseconds of each outage by the gateway's own clock."""
        self.skips = 0
        """How often this reader was too slow and was given the newest complete data in place of what it missed."""

    @property
    def valid(self):
        return not self.needs_full and not self.in_outage

    def take(self, event, data):
        if event == "fail":
            self.failures += 1
        elif event in EVENTS:
            getattr(self, "_" + event)(data)
        else:
            self.broken(f"an unknown event {event}")

    def broken(self, words):
        raise Fault(f"{self.stream}: {words}")

    def full(self, content):
        """Takes complete data; its position."""
        raise NotImplementedError

    def delta(self, content):
        """Takes a change; its position."""
        raise NotImplementedError

    def _update(self, data):
        if data["kind"] == "full":
            if self.connected is False:
                self.broken("a snapshot came while the venue was disconnected")
            self._complete(data)
            self.began_anew = self.in_outage and self.begins_anew
            return
        if self.needs_full:
            self.broken("an update came before the snapshot")
        if self.in_outage and not self.began_anew:
            self.broken("a change came during an outage")
        self.position = self.delta(data["content"])

    def refill(self, data):
        """Complete data in place of values this reader was too slow for; of the connection it was told all the same."""
        if data["state"] == "live" and self.in_outage:
            self.broken("a snapshot was live before the recover event")
        self._complete(data)
        self.skips += 1
        self.jumps = max(0, self.jumps - 1)

    def _fetch(self, data):
        if data["kind"] == "full":
            self._complete(data)
        elif self.in_outage and not self.needs_full:
            self.position = self.delta(data["content"])
        else:
            self.broken("a fetch event was not a snapshot, and there was no outage")

    def _complete(self, data):
        before, was_valid = self.position, self.valid
        self.position = self.full(data["content"])
        if before is not None and self.position < before:
            self.broken(f"a snapshot of update {self.position} came after update {before}")
        self.jumps += was_valid and self.position > before
        self.needs_full = False

    def _disconnect(self, _):
        if self.connected is False:
            self.broken("disconnected twice")
        self.connected = False
        self.disconnects += 1
        self._begin()

    def _connect(self, _):
        if self.connected:
            self.broken("connected twice")
        self.connected = True

    def _status(self, data):
        self.statuses += 1
        if data["state"] == "recovering":
            self._begin()
        elif data["state"] == "live" and self.in_outage:
            self.broken("live without a recover")

    def _begin(self):
        if not self.in_outage:
            self.in_outage = True
            self.outages += 1
        self.began_anew = False

    def _recover(self, data):
        if not self.in_outage:
            self.broken("a recover without an outage")
        if self.connected is False:
            self.broken("a recover without a connection")
        if data["result"] != "success":
            self.broken(f"not recovered: {data}")
        self.down.append(data["downMs"])
        self.in_outage = False
        self.recoveries += 1
        self.needs_full = data["method"] != "backfill"

    def _gap(self, data):
        self.broken(f"a gap of {data['dropped']}")
