import FuturesFeed
import MicroHTTP
import Tape

/// The problems of requests for the tape.
extension TapeHandlers {
    static func agedOut(_ first: Int64) -> HTTPProblem {
        HTTPProblem(
            status: 410, title: "Aged out", detail: "The tape begins at \(first); what was before is not kept. Ask for what came since.",
            extensions: [("code", .string("agedOut")), ("earliest", .number(Int(first)))])
    }

    static func notOnTape(_ first: Int64?) -> HTTPProblem {
        HTTPProblem(
            status: 410, title: "Not on the tape", detail: "No event with this id is on the tape: it is too old, or a kill lost it. Ask for a time.",
            extensions: [("code", .string("agedOut"))] + (first.map { [("earliest", .number(Int($0)))] } ?? []))
    }

    static let backwards = Problems.badParameter("to", "is earlier than from; leave one of them out, or change them.")

    static let noTape = HTTPProblem(
        status: 404, title: "No tape", detail: "Nothing is recorded here. Start the gateway with --tape-directory to record.",
        extensions: [("code", .string("noTape"))])

    static let notYet = HTTPProblem(
        status: 404, title: "Not on the tape yet", detail: "The tape does not reach that far yet; what is received is on it within a second or two.",
        extensions: [("code", .string("notYet"))])

    static let busy = HTTPProblem(
        status: 503, title: "Busy", detail: "The tape serves as many requests as it can, in all or of one caller. Try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "3")])

    static func notRecorded(_ name: FuturesServiceStreamName) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Not recorded", detail: "\(name) is not recorded: no pattern of tape-streams names it.",
            extensions: [("code", .string("notRecorded"))])
    }

    static func nothingThen(_ name: FuturesServiceStreamName) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Nothing then", detail: "Nobody read \(name) then, so nothing of it was recorded; GET /tape says what is missing.",
            extensions: [("code", .string("nothingThen"))])
    }

    static func unreadable(_ error: TapeError) -> HTTPProblem {
        HTTPProblem(status: 503, title: "The tape cannot be read", detail: error.message, headers: [HTTPHeader(name: "Retry-After", value: "5")])
    }
}
