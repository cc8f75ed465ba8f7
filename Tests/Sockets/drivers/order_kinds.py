"""Kinds of orders that venues list and nautilus_trader cannot read."""

from nautilus_trader.adapters.binance.common.enums import BinanceTimeInForce as Force


def add():
    """Adds them to the client's enum, and returns the names that it lacked. It fails on any list of symbols that has them, here as at a venue."""
    missing = [name for name in ("RPI", "HIDDEN") if name not in Force.__members__]
    for name in missing:
        member = object.__new__(Force)
        member._name_ = member._value_ = name
        Force._member_map_[name] = Force._value2member_map_[name] = member
        Force._member_names_.append(name)
    return missing
