public import FeedObserving
public import Logging

extension FuturesFeedService {
    /// A service for Aster with the default configuration, created at first use and never stopped.
    public static let shared = FuturesFeedService(configuration: FuturesFeedConfiguration())

    /// Creates a service that reads a venue. It connects with the first subscription.
    ///
    /// - Parameters:
    ///   - configuration: The venue and the other upstreams.
    ///   - logger: Logs connections that open and close; by default nothing is logged.
    public convenience init(configuration: FuturesFeedConfiguration, logger: Logger = Logger(label: "futures-feed") { _ in SwiftLogNoOpLogHandler() })
    {
        self.init(configuration.engine(epoch: .random(in: .min ... .max), logger))
    }
}
