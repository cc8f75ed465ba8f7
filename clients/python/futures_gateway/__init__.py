"""A client of FuturesGateway that needs nothing but Python's standard library."""

from .feed import Code, Event, Feed, FeedError

__all__ = ["Code", "Event", "Feed", "FeedError"]
