import MicroHTTP

/// The reasons for which a request to `/replay` fails.
extension ReplayHandlers {
    static let isLive = HTTPProblem(
        status: 404, title: "No replay", detail: "This gateway serves an upstream; futures-gateway replay serves a tape.",
        extensions: [("code", .string("noReplay"))])
    static let isPaced = HTTPProblem(
        status: 409, title: "Not in steps", detail: "The time of this replay passes by a clock. Start it with --stepped to advance it in steps.",
        extensions: [("code", .string("notStepped"))])
    static let isStepping = HTTPProblem(
        status: 409, title: "A step is being made", detail: "Wait for the answer to the earlier step before you ask for another one.",
        extensions: [("code", .string("stepping"))])
}
