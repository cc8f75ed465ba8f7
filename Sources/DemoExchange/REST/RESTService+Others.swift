/// The parts of the venue's other exchanges that clients need to start: spot under `/api` (Aster's under `/sapi/…/api`) and coin-margined futures
/// under `/dapi`. They list nothing, and their weight is counted separately.
extension RESTService {
    func otherExchange(_ path: [String], _ parameters: RESTParameters) -> RESTReply? {
        if path == ["sapi", "v1", "system", "status"] { return RESTReply(body: #"{"status":0,"msg":"normal"}"#) }
        guard let first = path.firstIndex(where: { $0 == "api" || $0 == "dapi" }), first == 0 || path[0] == "sapi", path.count >= first + 3 else {
            return nil
        }
        let isCoin = path[first] == "dapi"
        guard (isCoin ? ["v1"] : ["v1", "v3"]).contains(path[first + 1]) else { return nil }
        switch path[(first + 2)...].joined(separator: "/") {
        // The spot exchange's field for the weight of a minute; the ping itself costs 1.
        case "ping": return RESTReply(body: "{}", headers: isCoin ? [:] : ["X-MBX-USED-WEIGHT": "1", "X-MBX-USED-WEIGHT-1M": "1"])
        case "time": return RESTReply(body: #"{"serverTime":\#(now)}"#)
        case "exchangeInfo":
            let type = isCoin ? #""futuresType":"COIN_MARGINED","# : ""
            let limit = #"{"rateLimitType":"REQUEST_WEIGHT","interval":"MINUTE","intervalNum":1,"limit":\#(isCoin ? 2_400 : 6_000)}"#
            return RESTReply(
                body: #"{"timezone":"UTC","serverTime":\#(now),\#(type)"rateLimits":[\#(limit)],"exchangeFilters":[],"symbols":[]}"#)
        case "ticker/24hr", "ticker/price", "ticker/bookTicker":
            guard parameters.symbol != nil else { return array([String](), weight: nil) }
            return checked(nil) { () throws(Refused) in throw .invalidSymbol }
        default: return nil
        }
    }
}
