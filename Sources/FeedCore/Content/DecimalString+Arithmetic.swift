/// Exact sums and products; nil if the result needs more than 32 characters.
extension DecimalString {
    /// All digits as one integer, and how many of them follow the point.
    private struct Digits {
        var number: ScaledNumber
        var decimals: Int

        init(number: ScaledNumber, decimals: Int) {
            self.number = number
            self.decimals = decimals
        }

        init?(_ decimal: DecimalString) {
            var (number, decimals, isFraction, isNegative): (ScaledNumber, Int, Bool, Bool) = (0, 0, false, false)
            for byte in decimal.text.utf8 {
                switch byte {
                case UInt8(ascii: "-"): isNegative = true
                case UInt8(ascii: "."): isFraction = true
                default:
                    let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
                    let (sum, isFarOver) = tens.addingReportingOverflow(ScaledNumber(byte &- UInt8(ascii: "0")))
                    guard !isOver, !isFarOver else { return nil }
                    number = sum
                    if isFraction { decimals += 1 }
                }
            }
            self.init(number: isNegative ? -number : number, decimals: decimals)
        }

        /// The number scaled to more decimals.
        func padded(to decimals: Int) -> ScaledNumber? {
            var number = number
            for _ in self.decimals..<max(decimals, self.decimals) {
                let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
                guard !isOver else { return nil }
                number = tens
            }
            return number
        }

        /// The number as text, without trailing zeros after the point.
        var shortest: DecimalString? {
            var digits = self
            while digits.decimals > 0, digits.number % 10 == 0 {
                digits.number /= 10
                digits.decimals -= 1
            }
            return digits.decimal
        }

        var decimal: DecimalString? {
            var text = "\(number.magnitude)"
            if decimals > 0 {
                text = String(repeating: "0", count: max(0, decimals + 1 - text.utf8.count)) + text
                text.insert(".", at: text.index(text.endIndex, offsetBy: -decimals))
            }
            return DecimalString(number < 0 ? "-" + text : text)
        }
    }

    /// The sum, with as many decimals as the operand that has more.
    func plus(_ other: DecimalString) -> DecimalString? {
        guard let own = Digits(self), let others = Digits(other) else { return nil }
        let decimals = max(own.decimals, others.decimals)
        guard let a = own.padded(to: decimals), let b = others.padded(to: decimals) else { return nil }
        let (sum, isOver) = a.addingReportingOverflow(b)
        return isOver ? nil : Digits(number: sum, decimals: decimals).decimal
    }

    /// Zero with as many decimals.
    var zero: DecimalString {
        let decimals = text.utf8.firstIndex(of: UInt8(ascii: ".")).map { text.utf8.distance(from: $0, to: text.utf8.endIndex) - 1 } ?? 0
        return DecimalString(checked: decimals == 0 ? "0" : "0." + String(repeating: "0", count: decimals))
    }

    /// The product, without trailing zeros after the point.
    func times(_ other: DecimalString) -> DecimalString? {
        guard let own = Digits(self), let others = Digits(other) else { return nil }
        let (product, isOver) = own.number.multipliedReportingOverflow(by: others.number)
        return isOver ? nil : Digits(number: product, decimals: own.decimals + others.decimals).shortest
    }
}
