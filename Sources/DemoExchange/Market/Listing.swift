/// A symbol as the exchange lists it. One unit of the price precision is its tick, one unit of the quantity precision its step.
struct Listing {
    enum Kind {
        case perpetual
        /// A dated contract: no funding.
        case quarterly
        /// A perpetual on a metal or a share; its mark prices are sent in a separate frame.
        case tradFi
        /// Delisted: keeps its mark price row, has no ticker and no trades.
        case settling
    }

    let symbol: String
    let base: String
    let kind: Kind
    /// The price around which the market moves, in units of `pricePrecision`.
    let anchor: Int64
    let pricePrecision: Int
    let quantityPrecision: Int
    /// A trade worth about 500 USDT, in units of the quantity precision.
    let typicalQuantity: Int64

    var pair: String { base + "USDT" }
    var isDated: Bool { kind == .quarterly }
    var contractType: String { isDated ? "CURRENT_QUARTER" : "PERPETUAL" }
    /// When the dated contracts are delivered: 2026-12-25 08:00 UTC.
    static let delivery: Int64 = 1_798_185_600_000
    var isTrading: Bool { kind != .settling }
    var hasFunding: Bool { kind == .perpetual || kind == .tradFi }
    /// The assets that make up this contract's index, with their shares in ten-thousandths; empty if the index is a plain price.
    var components: [(base: String, part: Int64)] {
        base == "DEFI" ? [("ETH", 4_500), ("LINK", 3_250), ("SOL", 2_250)] : []
    }
    /// Only ASCII letters are lowercased, as in the venues' stream names.
    var streamPrefix: String { asciiLowercased(symbol) }
    var quotePrecision: Int { pricePrecision + quantityPrecision }

    private init(_ base: String, _ anchor: Int64, _ price: Int, _ quantity: Int, _ kind: Kind = .perpetual, delivery: String = "") {
        self.base = base
        self.anchor = anchor
        self.kind = kind
        symbol = base + "USDT" + delivery
        pricePrecision = price
        quantityPrecision = quantity
        typicalQuantity = max(3, 500 * powerOfTen(price + quantity) / anchor)
    }

    private static let known: [Listing] = [
        Listing("BTC", 1_083_452, 1, 3),
        Listing("ETH", 384_519, 2, 3),
        Listing("BNB", 112_043, 2, 2),
        Listing("SOL", 184_730, 3, 2),
        Listing("XRP", 24_381, 4, 1),
        Listing("ADA", 64_415, 5, 0),
        Listing("DOGE", 187_420, 6, 0),
        Listing("BTC", 1_092_117, 1, 3, .quarterly, delivery: "_261225"),
        Listing("币安人生", 1_536_218, 7, 0),
        Listing("SAND", 20_714, 5, 0, .settling),
        Listing("XAU", 402_316, 2, 3, .tradFi),
        Listing("TSLA", 43_862, 2, 2, .tradFi),
        Listing("ASTER", 104_930, 5, 2),
        Listing("LINK", 17_483, 3, 2),
        Listing("LTC", 10_427, 2, 3),
        Listing("AVAX", 19_644, 3, 1),
        Listing("DOT", 29_870, 4, 1),
        Listing("SUI", 25_418, 4, 1),
        Listing("TRX", 31_950, 5, 0),
        Listing("DEFI", 643_120, 3, 3),
        Listing("1000PEPE", 711_930, 7, 0),
        Listing("USDC", 100_030, 5, 1),
        Listing("NEAR", 24_160, 4, 1),
        Listing("APT", 33_810, 4, 1),
    ]

    /// The first `count` listings, clamped to 20–2 000. After the named ones come `D0025USDT` and so on.
    static func all(_ count: Int, perpetualsOnly: Bool = false) -> [Listing] {
        let count = min(max(count, 20), 2_000)
        let extra = (known.count...max(count, known.count)).map { number in
            let digits = String(number + 1)
            return Listing("D" + String(repeating: "0", count: 4 - digits.count) + digits, 15_000 + Int64(number) * 37, 4, 1)
        }
        return Array((known + extra).filter { !perpetualsOnly || !$0.isDated }.prefix(count))
    }
}

func asciiLowercased(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { ("A"..."Z").contains($0) ? Unicode.Scalar(UInt8($0.value) + 32) : $0 }))
}

func asciiUppercased(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { ("a"..."z").contains($0) ? Unicode.Scalar(UInt8($0.value) - 32) : $0 }))
}
