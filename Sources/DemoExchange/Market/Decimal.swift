/// The decimal text of `units` / 10^`scale`: always `scale` digits after the point, as the venues write prices and quantities.
func decimal(_ units: Int64, _ scale: Int) -> String {
    let digits = String(units.magnitude)
    let sign = units < 0 ? "-" : ""
    guard scale > 0 else { return sign + digits }
    let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
    return sign + padded.dropLast(scale) + "." + padded.suffix(scale)
}

/// 10 to the power of `exponent`, for exponents of 0 to 18.
func powerOfTen(_ exponent: Int) -> Int64 { powersOfTen[min(max(exponent, 0), 18)] }

private let powersOfTen: [Int64] = (0..<18).reduce(into: [1]) { powers, place in powers.append(powers[place] * 10) }
