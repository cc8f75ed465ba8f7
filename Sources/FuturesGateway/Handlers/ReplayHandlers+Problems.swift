import MicroHTTP

/// The reasons for which a request to `/replay` fails.
extension ReplayHandlers {
    static let isLive = HTTPProblem(
        status: 404, title: "No replay", detail: "This gateway serves an upstream; futures-gateway replay serves a tape.",
        extensions: [("code", .string("noReplay"))])
    static let isPaced = HTTPProblem(
        status: 409, title: "Not in steps", detail: "A clock lets the time of this replay pass; start it with --stepped to let it pass in steps.",
        extensions: [("code", .string("notStepped"))])
    static let isStepping = HTTPProblem(
        status: 409, title: "A step is being made", detail: "Wait for the answer to the earlier step before you ask for another one.",
        extensions: [("code", .string("stepping"))])
}
