/// 128 random bits that identify an event connection, so that the id cannot be guessed.
struct ReaderID: Hashable {
    private let high: UInt64
    /// Half of the bits, used as a table key.
    let low: UInt64

    init() {
        var random = SystemRandomNumberGenerator()
        high = .random(in: .min ... .max, using: &random)
        low = .random(in: .min ... .max, using: &random)
    }

    /// Parses an id as printed; nil for anything else.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32, let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.suffix(16), radix: 16) else { return nil }
        (self.high, self.low) = (high, low)
        guard self.text == text else { return nil }
    }

    /// 32 hexadecimal digits.
    var text: String {
        [high, low].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
