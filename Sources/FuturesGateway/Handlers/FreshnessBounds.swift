import FuturesFeed
import MicroHTTP

/// How old a value may be that a snapshot is answered with, and for how long unverified: `maxAge` and `maxUnverified`, in ms.
struct FreshnessBounds {
    private var age: Int64?
    private var unverified: Int64?
    /// The parameter that is no time; nil where both can be read.
    private(set) var unreadable: String?

    /// Reads the parameters; nil is any.
    init(age: String? = nil, unverified: String? = nil) {
        self.age = read(age, "maxAge")
        self.unverified = read(unverified, "maxUnverified")
    }

    private mutating func read(_ text: String?, _ name: String) -> Int64? {
        guard let text else { return nil }
        if let milliseconds = Int64(text), milliseconds >= 0 { return milliseconds }
        unreadable = unreadable ?? name
        return nil
    }

    /// Whether any value will do.
    var areNone: Bool { age == nil && unverified == nil }

    /// Why the value will not do; nil where it does.
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

    /// After how long the value will do no more if nothing comes, a minute at most; nil where it always will.
    func rest(of status: StreamStatus) -> Duration? {
        let rests = [age.map { $0 &- (status.ageMs ?? 0) }, unverified.map { $0 &- (status.unverifiedMs ?? 0) }]
        return rests.compactMap(\.self).min().map { .milliseconds(min(max(0, $0), 60_000) + 1) }
    }
}
