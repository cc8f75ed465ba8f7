public import FeedObserving
public import Logging

extension FuturesFeedService {
    /// A service for Aster with the default configuration, made at first use and never stopped.
    public static let shared = FuturesFeedService(configuration: FuturesFeedConfiguration())

    /// Makes a service that reads a venue; it connects with the first subscription.
    ///
    /// - Parameters:
    ///   - configuration: the venue, and what else is to be read.
    ///   - logger: logs connections that open and close; by default nothing is logged.
    public convenience init(configuration: FuturesFeedConfiguration, logger: Logger = Logger(label: "futures-feed") { _ in SwiftLogNoOpLogHandler() })
    {
        self.init(configuration.engine(epoch: .random(in: .min ... .max), logger))
    }
}
