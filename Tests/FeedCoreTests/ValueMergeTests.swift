import Testing

@testable import FeedCore

@Suite struct ValueMergeTests {
    private static let (one, two) = (ConnectionID(1), ConnectionID(2))

    private func merged(_ messages: [(ConnectionID, String)]) -> [String] {
        var merge = ValueMerge()
        return messages.compactMap { merge.isNews(JSONRow(checked: $0.1), from: $0.0) ? $0.1 : nil }
    }

    @Test func aLateLineDoesNotBringAValueBackThatWasReplaced() {
        let messages = ["x", "a", "b", "a"]
        let late = [(Self.one, "x"), (Self.two, "x")] + messages.dropFirst().map { (Self.one, $0) } + messages.dropFirst().map { (Self.two, $0) }
        #expect(merged(late) == messages)
    }

    @Test func whatOneLineLacksTheOtherBrings() {
        #expect(
            merged([(Self.one, "a"), (Self.two, "a"), (Self.two, "b"), (Self.one, "c"), (Self.two, "c"), (Self.two, "d")]) == ["a", "b", "c", "d"])
    }

    @Test func aConnectionThatBeginsMayRepeatTheNewestValue() {
        #expect(merged([(Self.one, "a"), (Self.one, "b"), (Self.two, "b"), (Self.two, "c"), (Self.one, "c")]) == ["a", "b", "c"])
    }

    @Test func aValueThatComesAgainIsNews() {
        #expect(merged([(Self.one, "a"), (Self.two, "a"), (Self.one, "a"), (Self.two, "a"), (Self.two, "a")]) == ["a", "a", "a"])
    }

    @Test func whateverTheLinesDoEachValueIsToldInOrder() {
        let seed = UInt64.random(in: 1...1_000_000)
        var dice = Dice(seed: seed)
        // Values come again and again; one line lags, and neither loses anything.
        let sent = ["begin"] + (0..<2000).map { _ in String(dice.below(4)) }
        var merge = ValueMerge()
        var (places, told) = ([0, 0], [String]())
        for line in 0..<2 where merge.isNews(JSONRow(checked: sent[0]), from: ConnectionID(UInt64(line) + 1)) { told.append(sent[0]) }
        places = [1, 1]
        while places != [sent.count, sent.count] {
            let line = dice.below(2)
            guard places[line] < sent.count, places[line] - places[1 - line] < 100 else { continue }
            if merge.isNews(JSONRow(checked: sent[places[line]]), from: ConnectionID(UInt64(line) + 1)) { told.append(sent[places[line]]) }
            places[line] += 1
        }
        let isSame = told == sent
        #expect(isSame, "seed \(seed)")
    }
}
