import FuturesFeed
import MicroHTTP

/// How old a snapshot may be, and for how long unverified, to be an answer: `maxAge` and `maxUnverified`, in ms.
struct FreshnessBounds {
    private var age: Int64?
    private var unverified: Int64?
    /// The parameter that is no time; nil if both can be read.
    private(set) var unreadable: String?

    /// Reads the parameters; nil means no bound.
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
                detail: "The newest value of \(status.name) is \(passed) ms old, older than the \(age) ms asked for.")
        }
        guard let unverified, let passed = status.unverifiedMs, passed > unverified else { return nil }
        return HTTPProblem(
            status: 503, title: "Not verified",
            detail: "For \(passed) ms nothing has shown that the value of \(status.name) is the newest, longer than the \(unverified) ms asked for.")
    }

    /// How long the snapshot stays within the bounds if nothing comes, at most a minute; nil if it always does.
    func rest(of status: StreamStatus) -> Duration? {
        let rests = [age.map { $0 &- (status.ageMs ?? 0) }, unverified.map { $0 &- (status.unverifiedMs ?? 0) }]
        return rests.compactMap(\.self).min().map { .milliseconds(min(max(0, $0), 60_000) + 1) }
    }
}
