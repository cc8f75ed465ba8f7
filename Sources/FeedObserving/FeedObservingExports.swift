@_exported public import FeedCore
