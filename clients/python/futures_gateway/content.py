"""The content of a stream, and the rules for merging changes into it."""

import re
from decimal import Decimal
from typing import Any


def rule_for(catalogue: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """A stream's entry in the catalogue of `GET /streams`; empty if there is none. In a pattern `{symbol}` is any text without `@`, `{5|10}` one of
    these, and `[@1s]` is optional."""
    for rule in catalogue:
        text = re.sub(r"[.*+?^$()\\]", r"\\\g<0>", rule["pattern"]).replace("[", "(?:").replace("]", ")?")
        if re.fullmatch(re.sub(r"\{[^{}]*\}", "[^@]+", re.sub(r"\{([^{}]*\|[^{}]*)\}", r"(?:\1)", text)), name):
            return rule
    return {}


class StreamContent:
    """The content of one stream, kept current by its rule in the catalogue: `merge`, and `key` or `keep`. Without a rule it accepts only snapshots.
    What `value` has given is not changed afterwards. `id` is that of the last change, empty before a snapshot; `times` are its age and the time for
    which it is unverified, in milliseconds, and the moment at which they were told."""

    def __init__(self, rule: dict[str, Any]) -> None:
        self.rule, self.id, self.state = rule, "", "connecting"
        self.times: tuple[int | None, int | None, float] = (None, None, 0)
        self._merge, self._key, self._keep = rule.get("merge", "replace"), rule.get("key", ""), rule.get("keep", 0)
        self._content: Any = None
        self._sides: dict[str, dict[Decimal, list[str]]] = {}
        self._reach: dict[str, Decimal] = {}

    @property
    def value(self) -> Any:
        """The current content; None before the first snapshot."""
        if not self._sides:
            return self._content
        return self._content | {name: list(side.values())[: self._keep or None] for name, side in self._sides.items()}

    @property
    def is_thin(self) -> bool:
        """Whether the market has moved so far from the book's first levels that a snapshot would contain more."""
        return any(len(self._sides[name]) < self._keep / 2 for name in self._reach)

    def has(self, data: dict[str, Any]) -> bool:
        """Whether this data has already been merged: data may be repeated after a reconnection."""
        if not self.id:
            return False
        (epoch, sequence), (own, last) = data["id"].split("."), self.id.split(".")
        return bool(epoch == own and int(sequence, 36) < int(last, 36) + (data["kind"] != "full"))

    def apply(self, data: dict[str, Any]) -> bool:
        """Merges the data of an `update` or `fetch`; False if the change does not follow the current content, so that a snapshot is needed."""
        content, old = data["content"], self._content
        if self.has(data):
            return True
        if data["kind"] == "full" or self._merge == "replace":
            self._content, self._sides, self._reach = content, {}, {}
            if self._merge == "book":
                self._change(content)
                # Beyond the limit of a truncated book, levels are known only from updates, so they are incomplete.
                self._reach = {name: max(side) for name, side in self._sides.items() if self._keep and len(side) >= self._keep}
        elif not self.id or self.id.split(".")[0] != data["id"].split(".")[0]:
            return False
        elif self._merge == "book":
            if not content["previousUpdateId"] <= old["lastUpdateId"] < content["lastUpdateId"]:
                return bool(content["lastUpdateId"] <= old["lastUpdateId"])
            self._content = old | content
            self._change(content)
        elif self._merge == "append":
            self._content = (old + content)[-self._keep :]
        else:
            rows = {row[self._key]: row for row in old + content}
            # Only bars have a limit. They are sorted by time, and the newest are kept.
            self._content = [rows[time] for time in sorted(rows)][-self._keep :] if self._keep else list(rows.values())
        self.id = data["id"]
        return True

    def _change(self, content: dict[str, list[list[str]]]) -> None:
        """Sets levels of a book, best first. Zero removes a level."""
        for name, sign in (("bids", -1), ("asks", 1)):
            side = self._sides.get(name, {})
            for price, quantity in content[name]:
                place = sign * Decimal(price)
                if Decimal(quantity) == 0:
                    side.pop(place, None)
                elif name not in self._reach or place <= self._reach[name]:
                    side[place] = [price, quantity]
            self._sides[name] = {place: side[place] for place in sorted(side)}
