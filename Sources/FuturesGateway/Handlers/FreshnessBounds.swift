import FuturesFeed
import MicroHTTP

/// The bounds of a snapshot's age and of its time without verification: `maxAge` and `maxUnverified`, in ms.
struct FreshnessBounds {
    private var age: Int64?
    private var unverified: Int64?
    /// The invalid parameter; nil if both are valid.
    private(set) var unreadable: String?

    /// Parses the parameters; nil means no bound.
    init(age: String? = nil, unverified: String? = nil) {
        self.age = read(age, "maxAge")
        self.unverified = read(unverified, "maxUnverified")
    }

    private mutating func read(_ text: String?, _ name: String) -> Int64? {
        guard let text else { return nil }
        if let milliseconds = ParameterText.integer(text, 0...Int64.max) { return milliseconds }
        unreadable = unreadable ?? name
        return nil
    }

    /// Whether there is no bound.
    var areNone: Bool { age == nil && unverified == nil }

    /// Why the snapshot exceeds a bound; nil if it does not.
    func problem(of status: StreamStatus) -> HTTPProblem? {
        if let age, let passed = status.ageMs, passed > age {
            return HTTPProblem(
                status: 503, title: "Too old",
                detail: "The newest value of \(status.name) is \(passed) ms old, older than the requested \(age) ms.")
        }
        guard let unverified, let passed = status.unverifiedMs, passed > unverified else { return nil }
        return HTTPProblem(
            status: 503, title: "Not verified",
            detail: "The value of \(status.name) has been unverified for \(passed) ms, longer than the requested \(unverified) ms.")
    }

    /// How long the snapshot stays within the bounds without new data, at most a minute; nil if there is no bound.
    func rest(of status: StreamStatus) -> Duration? {
        let rests = [age.map { $0 &- (status.ageMs ?? 0) }, unverified.map { $0 &- (status.unverifiedMs ?? 0) }]
        return rests.compactMap(\.self).min().map { .milliseconds(min(max(0, $0), 60_000) + 1) }
    }
}
