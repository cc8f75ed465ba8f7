/// Writes the payloads of order books. Every level is two decimals, so they are written byte by byte.
struct DepthWriter {
    private let listing: Listing
    private var bytes: [UInt8] = []

    init(_ listing: Listing) {
        self.listing = listing
        bytes.reserveCapacity(1 << 12)
    }

    /// `previousID` is the `u` of the previous event of the same stream.
    mutating func depthUpdate(
        _ book: SimulatedBook, first: Int64, previousID: Int64, bids: some Sequence<Level>, asks: some Sequence<Level>, at now: Int64
    ) -> String {
        append(#"{"e":"depthUpdate","E":\#(now),"T":\#(book.time),"s":"\#(listing.symbol)","#)
        append(#""U":\#(first),"u":\#(book.updateID),"pu":\#(previousID),"b":"#)
        append(bids)
        append(#","a":"#)
        append(asks)
        append("}")
        return String(decoding: bytes, as: UTF8.self)
    }

    mutating func depthReply(_ book: SimulatedBook, limit: Int, at now: Int64) -> String {
        append(#"{"lastUpdateId":\#(book.updateID),"E":\#(now),"T":\#(book.time),"bids":"#)
        append(book.bids.levels.prefix(limit))
        append(#","asks":"#)
        append(book.asks.levels.prefix(limit))
        append("}")
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func append(_ levels: some Sequence<Level>) {
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for level in levels {
            append(isFirst ? #"[""# : #",[""#)
            isFirst = false
            append(level.price, listing.pricePrecision)
            append(#"",""#)
            append(level.quantity, listing.quantityPrecision)
            append(#""]"#)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// A decimal that is not negative; see ``decimal(_:_:)``.
    private mutating func append(_ units: Int64, _ scale: Int) {
        let start = bytes.count
        var (rest, digits) = (units, 0)
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
            digits += 1
            if digits == scale { bytes.append(UInt8(ascii: ".")) }
        } while rest > 0 || digits <= scale
        bytes[start...].reverse()
    }
}

extension Liquidation {
    func forceOrder(_ market: SymbolMarket, at now: Int64) -> String {
        let quantity = market.quantity(quantity)
        return #"{"e":"forceOrder","E":\#(now),"o":{"s":"\#(market.listing.symbol)","S":"\#(isSell ? "SELL" : "BUY")","o":"LIMIT","f":"IOC","#
            + #""q":"\#(quantity)","p":"\#(market.price(price))","ap":"\#(market.price(averagePrice))","X":"FILLED","l":"\#(quantity)","#
            + #""z":"\#(quantity)","T":\#(time)}}"#
    }
}
