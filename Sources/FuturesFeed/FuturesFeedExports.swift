@_exported public import FeedCore
@_exported public import FeedDialects
@_exported public import FeedObserving
