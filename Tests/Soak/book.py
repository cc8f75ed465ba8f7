"""One reader's view of one order book, rebuilt from events alone, and what is wrong with them."""


class Fault(Exception):
    """An event that breaks the contract."""


class Follower:
    """Follows one stream of one connection by the documented rule and raises Fault at the first event that breaks it."""

    def __init__(self, stream):
        self.stream = stream
        self.bids, self.asks = {}, {}
        self.update_id = None
        self.in_outage = False
        self.connected = True
        self.recoveries = 0
        self.outages = 0

    @property
    def valid(self):
        return self.update_id is not None and not self.in_outage

    def take(self, event, data):
        getattr(self, "_" + event, lambda _: None)(data)

    def _update(self, data):
        content = data["content"]
        if data["kind"] == "full":
            self.bids, self.asks = dict(content["bids"]), dict(content["asks"])
            if len(self.bids) != len(content["bids"]) or len(self.asks) != len(content["asks"]):
                raise Fault(f"{self.stream}: a price stands twice in a full book")
        else:
            if self.update_id is None:
                raise Fault(f"{self.stream}: a change came before any book")
            if content["lastUpdateId"] <= self.update_id:
                raise Fault(f"{self.stream}: update {content['lastUpdateId']} came after {self.update_id}")
            if content["previousUpdateId"] != self.update_id:
                raise Fault(f"{self.stream}: silent loss between {self.update_id} and {content['previousUpdateId']}")
            for side, levels in ((self.bids, content["bids"]), (self.asks, content["asks"])):
                for price, quantity in levels:
                    if quantity.strip("0.") == "":
                        side.pop(price, None)
                    else:
                        side[price] = quantity
        self.update_id = content["lastUpdateId"]

    _fetch = _update

    def _disconnect(self, _):
        if not self.connected:
            raise Fault(f"{self.stream}: disconnected twice")
        self.connected = False
        self._begin()

    def _connect(self, _):
        if self.connected and self.outages:
            raise Fault(f"{self.stream}: connected twice")
        self.connected = True

    def _status(self, data):
        if data["state"] == "recovering":
            self._begin()

    def _begin(self):
        if not self.in_outage:
            self.in_outage = True
            self.outages += 1

    def _recover(self, data):
        if not self.in_outage:
            raise Fault(f"{self.stream}: a recover without an outage")
        if data["result"] != "success":
            raise Fault(f"{self.stream}: not recovered: {data}")
        self.in_outage = False
        self.recoveries += 1
        self.update_id = None  # nothing is a base but what comes after it

    def _gap(self, data):
        raise Fault(f"{self.stream}: a gap of {data['dropped']}")

    def top(self, depth=20):
        """The best levels of each side, best first."""
        return (
            sorted(self.bids.items(), key=lambda level: -float(level[0]))[:depth],
            sorted(self.asks.items(), key=lambda level: float(level[0]))[:depth],
        )
