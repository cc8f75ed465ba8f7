import FuturesFeed
import MicroHTTP
import Tape

/// The problems of requests for the tape.
extension TapeHandlers {
    static func agedOut(_ first: Int64) -> HTTPProblem {
        HTTPProblem(
            status: 410, title: "Aged out", detail: "The tape begins at \(first); earlier events are deleted. Request later ones.",
            extensions: [("code", .string("agedOut")), ("earliest", .number(Int(first)))])
    }

    static func notOnTape(_ first: Int64?) -> HTTPProblem {
        HTTPProblem(
            status: 410, title: "Not on the tape",
            detail: "No event with this id is on the tape: it is too old, or was lost in a crash. Give a time instead.",
            extensions: [("code", .string("agedOut"))] + (first.map { [("earliest", .number(Int($0)))] } ?? []))
    }

    static let backwards = Problems.badParameter("to", "is earlier than from; leave one of them out, or change them.")

    static let noTape = HTTPProblem(
        status: 404, title: "No tape", detail: "This gateway does not record. Start it with --tape-directory to record.",
        extensions: [("code", .string("noTape"))])

    static let notYet = HTTPProblem(
        status: 404, title: "Not on the tape yet",
        detail: "The tape does not reach that far yet; events are on it one or two seconds after their receipt.",
        extensions: [("code", .string("notYet"))])

    static let busy = HTTPProblem(
        status: 503, title: "Busy", detail: "The tape has reached its limit of requests, in total or for this caller. Try again in a few seconds.",
        headers: [HTTPHeader(name: "Retry-After", value: "3")])

    static func notRecorded(_ name: FuturesServiceStreamName) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Not recorded", detail: "\(name) is not recorded: no pattern of tape-streams matches it.",
            extensions: [("code", .string("notRecorded"))])
    }

    static func nothingThen(_ name: FuturesServiceStreamName) -> HTTPProblem {
        HTTPProblem(
            status: 404, title: "Nothing recorded", detail: "\(name) had no readers at that time, so it was not recorded; GET /tape lists the gaps.",
            extensions: [("code", .string("nothingThen"))])
    }

    static func unreadable(_ error: TapeError) -> HTTPProblem {
        HTTPProblem(status: 503, title: "The tape cannot be read", detail: error.message, headers: [HTTPHeader(name: "Retry-After", value: "5")])
    }
}
