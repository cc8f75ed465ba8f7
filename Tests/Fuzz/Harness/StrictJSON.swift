/// Whether bytes are one JSON text, by the grammar of RFC 8259 alone and with nothing of the gateway's reader.
struct StrictJSON {
    private let bytes: [UInt8]
    private var place = 0
    private(set) var deepest = 0

    /// How deep the values of a JSON text are nested; nil where it is none.
    static func depth(of bytes: some Sequence<UInt8>) -> Int? {
        var json = StrictJSON(bytes: Array(bytes))
        json.space()
        guard json.value(1) else { return nil }
        json.space()
        return json.place == json.bytes.count ? json.deepest : nil
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func take(_ characters: String) -> Bool {
        guard let next, characters.utf8.contains(next) else { return false }
        place += 1
        return true
    }

    private mutating func space() { while take(" \t\r\n") {} }

    private mutating func value(_ depth: Int) -> Bool {
        switch next {
        case UInt8(ascii: "{"): list(depth, "}") { json in json.string() && json.colon() && json.value(depth + 1) }
        case UInt8(ascii: "["): list(depth, "]") { json in json.value(depth + 1) }
        case UInt8(ascii: "\""): string()
        case UInt8(ascii: "t"): word("true")
        case UInt8(ascii: "f"): word("false")
        case UInt8(ascii: "n"): word("null")
        default: number()
        }
    }

    private mutating func list(_ depth: Int, _ end: String, _ element: (inout StrictJSON) -> Bool) -> Bool {
        guard depth <= 1000 else { return false }
        deepest = max(deepest, depth)
        place += 1
        space()
        if take(end) { return true }
        repeat {
            space()
            guard element(&self) else { return false }
            space()
        } while take(",")
        return take(end)
    }

    private mutating func colon() -> Bool {
        space()
        guard take(":") else { return false }
        space()
        return true
    }

    private mutating func word(_ word: String) -> Bool {
        guard bytes[place...].starts(with: word.utf8) else { return false }
        place += word.utf8.count
        return true
    }

    private mutating func string() -> Bool {
        guard take("\"") else { return false }
        while let byte = next {
            if take("\"") { return true }
            guard byte >= 0x20 else { return false }
            place += 1
            guard byte == UInt8(ascii: "\\") else { continue }
            if take("u") {
                for _ in 0..<4 { guard take("0123456789abcdefABCDEF") else { return false } }
            } else if !take("\"\\/bfnrt") {
                return false
            }
        }
        return false
    }

    private mutating func digits() -> Bool {
        guard take("0123456789") else { return false }
        while take("0123456789") {}
        return true
    }

    private mutating func number() -> Bool {
        _ = take("-")
        if !take("0"), !digits() { return false }
        if take("."), !digits() { return false }
        if take("eE") {
            _ = take("+-")
            return digits()
        }
        return true
    }
}
