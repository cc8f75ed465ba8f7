package import FeedCore

/// Why a text is not a stream's name, and which name was probably meant.
package struct StreamNameMistake: Sendable, Equatable {
    /// The closed set of mistakes.
    package enum Code: String, Sendable, CaseIterable {
        /// It contains a blank, or another character that no name has.
        case badCharacter
        /// The symbol is in upper case.
        case upperCase
        /// There is no such kind of stream.
        case unknownKind
        /// A part is missing, such as the interval of a kline.
        case incomplete
        /// The venue does not list the symbol.
        case unlisted
        /// No upstream has this prefix.
        case unknownUpstream
    }

    package let code: Code
    /// One or two sentences that name the mistake and suggest an existing name.
    package let detail: String
    /// The existing names that were probably meant, nearest first; at most three.
    package let suggestions: [String]

    /// - Parameters:
    ///   - text: A text that is not a stream's name.
    ///   - listing: Returns the listing of an upstream, in the dialect's order; nil if unknown.
    package init(_ text: String, dialect: any Dialect, listing: (Int) -> VenueListing?) {
        let prefix = text.prefix { $0 != ":" }
        if prefix.endIndex < text.endIndex, let place = dialect.upstreams.dropFirst().firstIndex(where: { $0.venue != nil && $0.name == prefix }) {
            let judge = NameJudge(dialect: dialect.parts[place], listing: listing(place), prefix: prefix + ":")
            self = judge.mistake(String(text[text.index(after: prefix.endIndex)...]))
        } else {
            self = NameJudge(dialect: dialect, listing: listing(0), prefix: "").mistake(text)
        }
    }

    init(_ code: Code, _ detail: String, _ suggestions: [String]) {
        self.code = code
        self.suggestions = suggestions
        let hint = suggestions.isEmpty ? "" : " Did you mean \(suggestions.joined(separator: " or "))?"
        self.detail = detail + hint
    }
}

private struct NameJudge {
    let dialect: any Dialect
    let listing: VenueListing?
    /// The prefix of the venue's names, with its colon, which the given text lacks; empty for the first venue.
    let prefix: String

    func mistake(_ text: String) -> StreamNameMistake {
        if text.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 || $0.value == 0x7F }) {
            let plain = String(
                String.UnicodeScalarView(text.unicodeScalars.filter { !$0.properties.isWhitespace && $0.value >= 0x20 && $0.value != 0x7F }))
            return StreamNameMistake(.badCharacter, "A stream name must not contain spaces or control characters.", known([plain]))
        }
        if let colon = text.firstIndex(of: ":") { return upstreamMistake(String(text[..<colon]), String(text[text.index(after: colon)...])) }
        return text.hasPrefix("!") ? wholeMistake(text) : symbolMistake(text)
    }

    /// The existing names among these; at most three.
    private func known(_ names: [String]) -> [String] {
        var known: [String] = []
        for text in names where known.count < 3 && !known.contains(text) {
            guard let name = FuturesServiceStreamName(prefix + text), dialect.traits(of: name) != nil, listing.map(name.isListed) ?? true else {
                continue
            }
            known.append(name.description)
        }
        return known
    }

    private func patterns(_ isWanted: (String) -> Bool) -> [String] {
        dialect.catalogue.map { String($0.pattern.dropFirst(prefix.count)) }.filter(isWanted)
    }

    private func upstreamMistake(_ prefix: String, _ stream: String) -> StreamNameMistake {
        let upstreams = unique(patterns { $0.contains(":") }.map { String($0.prefix { $0 != ":" }) })
        let patterns = patterns { $0.hasPrefix(prefix + ":") }
        guard upstreams.contains(prefix) else {
            if dialect.upstreams.first?.venue == prefix {
                return StreamNameMistake(.unknownUpstream, "The names of the first venue's streams have no prefix.", known([stream]))
            }
            let there = upstreams.isEmpty ? "only the venue, whose names have no colon" : upstreams.joined(separator: ", ")
            let near = nearMisses(prefix, in: upstreams, atMost: 3)
            return StreamNameMistake(
                .unknownUpstream, "There is no upstream with this name. Available: \(there).", known(near.map { $0 + ":" + stream }))
        }
        let forms = NameForms(patterns: patterns).forms
        let key = String(stream.prefix { $0 != "@" })
        let rest = String(stream.dropFirst(key.count))
        let suffixes = forms.filter(\.takesKey).map(\.suffix)
        let near = rest.isEmpty ? suffixes : nearMisses(rest, in: suffixes, atMost: 3)
        let names = near.flatMap { suffix in forms.filter { $0.takesKey && $0.suffix == suffix }.map { $0.name(key) } }
        let whole = nearMisses(prefix + ":" + stream, in: forms.filter { !$0.takesKey }.map(\.suffix), atMost: 1)
        let look = patterns.isEmpty ? "" : "; its names look like \(patterns.joined(separator: ", "))"
        let isIncomplete = rest.isEmpty && !suffixes.contains("")
        return StreamNameMistake(
            isIncomplete ? .incomplete : .unknownKind,
            isIncomplete ? "The kind of stream is missing\(look)." : "The upstream \(prefix) has no such stream\(look).", known(names + whole))
    }

    /// `!miniTicker@arr` and similar names.
    private func wholeMistake(_ text: String) -> StreamNameMistake {
        let names = NameForms(patterns: patterns { $0.hasPrefix("!") }).forms.map(\.suffix)
        let isBegun = names.contains { $0.hasPrefix(text + "@") }
        let near = isBegun ? names.filter { $0.hasPrefix(text + "@") } : nearMisses(text, in: names, atMost: 3)
        return StreamNameMistake(
            isBegun ? .incomplete : .unknownKind,
            isBegun ? "The end of the name is missing." : "There is no such stream for all symbols. Available: \(names.joined(separator: ", ")).",
            known(near))
    }

    private func symbolMistake(_ text: String) -> StreamNameMistake {
        let given = text.prefix { $0 != "@" }
        let (symbol, kind) = (lowercased(given), String(text.dropFirst(given.count)))
        let venue = NameForms(patterns: patterns { !$0.contains(":") })
        let kinds = unique(venue.forms.filter(\.takesKey).map { String($0.suffix.drop { $0 != "@" }) })
        guard !kind.isEmpty, kind != "@" else {
            let whole = nearMisses(text, in: venue.forms.filter { !$0.takesKey }.map(\.suffix), atMost: 1)
            return StreamNameMistake(
                .incomplete, "The kind of stream is missing, for example @markPrice.", known(whole.isEmpty ? [symbol + "@markPrice"] : whole))
        }
        guard kinds.contains(kind) else { return kindMistake(symbol, kind, kinds) }
        if symbol != given {
            return StreamNameMistake(.upperCase, "Write the symbol in lower case.", known([symbol + kind]) + unlisted(symbol, kind))
        }
        guard let name = FuturesServiceStreamName(prefix + text), dialect.traits(of: name) != nil else {
            let contracts = venue.forms.filter { $0.suffix.hasSuffix(kind) && $0.suffix.hasPrefix("_") }.map { $0.name(symbol) }
            if !contracts.isEmpty { return StreamNameMistake(.incomplete, "The contract is missing.", known(contracts)) }
            return StreamNameMistake(.badCharacter, "A symbol consists of letters, digits and _, at most 40 bytes.", [])
        }
        return StreamNameMistake(.unlisted, "The venue does not list this symbol.", unlisted(symbol, kind))
    }

    /// Handles an unknown kind. Also corrects the case of the symbol.
    private func kindMistake(_ symbol: String, _ kind: String, _ kinds: [String]) -> StreamNameMistake {
        let longer = kinds.filter { $0.hasPrefix(kind) || $0.hasPrefix(kind + "_") }
        let intervals = KlineInterval.allCases.map(\.rawValue).joined(separator: ", ")
        if let bars = ["@kline", "@continuousKline"].first(where: { kind == $0 || kind.hasPrefix($0 + "_") }), kinds.contains(bars + "_1m") {
            let near = nearMisses(kind, in: kinds.filter { $0.hasPrefix(bars + "_") }, atMost: 1).first ?? bars + "_1m"
            let isMissing = kind == bars || kind == bars + "_"
            return StreamNameMistake(
                isMissing ? .incomplete : .unknownKind,
                "\(isMissing ? "The interval is missing" : "There is no such interval"). Available: \(intervals).",
                suggested(symbol, [isMissing ? bars + "_1m" : near]))
        }
        let caseless = kinds.filter { $0.lowercased() == kind.lowercased() }
        if !caseless.isEmpty { return StreamNameMistake(.unknownKind, "The part after the @ is case-sensitive.", suggested(symbol, caseless)) }
        let base = String("@" + kind.dropFirst().prefix { $0 != "@" })
        if base != kind, kinds.contains(base) {
            let speeds = kinds.filter { $0 == base || $0.hasPrefix(base + "@") }
            return StreamNameMistake(.unknownKind, "There is no such speed. Available: \(speeds.joined(separator: ", ")).", suggested(symbol, speeds))
        }
        let near = longer.isEmpty ? nearMisses(kind, in: kinds, atMost: 3) : longer
        let there = unique(kinds.map { $0.hasPrefix("@kline_") ? "@kline_{interval}" : $0 })
        return StreamNameMistake(
            .unknownKind, "The venue has no such kind of stream. Available for a symbol: \(there.joined(separator: ", ")).", suggested(symbol, near))
    }

    private func suggested(_ symbol: String, _ kinds: [String]) -> [String] {
        let names = known(kinds.map { symbol + $0 })
        return names.isEmpty ? kinds.first.map { unlisted(symbol, $0) } ?? [] : names
    }

    /// The same kind of stream for similar listed symbols.
    private func unlisted(_ symbol: String, _ kind: String) -> [String] {
        guard let listing, known([symbol + kind]).isEmpty else { return [] }
        let symbols = (kind == "@assetIndex" ? listing.assetIndices : listing.symbols).map { lowercased($0[...]) }.sorted()
        let longer = symbols.filter { $0.hasPrefix(symbol) && !symbol.isEmpty }.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
        return known((longer + nearMisses(symbol, in: symbols, atMost: 3)).map { $0 + kind })
    }

    private func lowercased(_ text: Substring) -> String {
        String(decoding: text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    private func unique(_ texts: [String]) -> [String] {
        var seen: Set<String> = []
        return texts.filter { seen.insert($0).inserted }
    }
}
