import Testing

@testable import FeedCore

@Suite struct ValueMergeTests {
    private static let (one, two) = (ConnectionID(1), ConnectionID(2))

    private func merged(_ messages: [(ConnectionID, String)]) -> [String] {
        var merge = ValueMerge()
        return messages.compactMap { merge.isNews(Self.message($0.1), from: $0.0) ? $0.1 : nil }
    }

    private static func message(_ text: String) -> FeedRows { .json([JSONRow(checked: text)]) }

    /// Messages of which the first letter is the time.
    private func mergedByTime(_ messages: [(ConnectionID, String)]) -> [String] {
        var merge = ValueMerge()
        return messages.compactMap { id, text in
            merge.isNews(Self.message(text), at: text.utf8.first.map { Int64($0) }, from: id) ? text : nil
        }
    }

    @Test func ofSeveralMessagesOfOneMillisecondEachCountsOnce() {
        let sent = ["1a", "1b", "1a", "2a", "2b"]
        let (one, two) = (sent.map { (Self.one, $0) }, sent.map { (Self.two, $0) })
        #expect(mergedByTime(one + two.suffix(2)) == sent)
        let inTurn: [(ConnectionID, String)] = [one[0], two[0], two[1], two[2], one[1], one[2], two[3], two[4], one[3], one[4]]
        #expect(mergedByTime(inTurn) == sent)
        #expect(mergedByTime([one[0], two[0], one[1], one[2], two[1], two[2], two[3], one[3], one[4], two[4]]) == sent)
    }

    @Test func aLateLineDoesNotBringAValueBackThatWasReplaced() {
        let messages = ["x", "a", "b", "a"]
        let late = [(Self.one, "x"), (Self.two, "x")] + messages.dropFirst().map { (Self.one, $0) } + messages.dropFirst().map { (Self.two, $0) }
        #expect(merged(late) == messages)
    }

    @Test func aConnectionThatBeginsFarBehindBringsNothingBack() {
        var merge = ValueMerge()
        func isNews(_ number: Int64, _ id: ConnectionID) -> Bool {
            merge.isNews(Self.message(String(number)), at: number, isOrdered: false, from: id)
        }
        #expect((0..<400).filter { isNews($0, Self.one) }.count == 400)
        #expect((10..<120).filter { isNews($0, Self.two) }.isEmpty)
        #expect(isNews(400, Self.two), "it has caught up")
        #expect(!isNews(400, Self.one) && isNews(399, Self.one), "times need not order the stream")
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
        for line in 0..<2 where merge.isNews(Self.message(sent[0]), from: ConnectionID(UInt64(line) + 1)) { told.append(sent[0]) }
        places = [1, 1]
        while places != [sent.count, sent.count] {
            let line = dice.below(2)
            guard places[line] < sent.count, places[line] - places[1 - line] < 100 else { continue }
            if merge.isNews(Self.message(sent[places[line]]), from: ConnectionID(UInt64(line) + 1)) { told.append(sent[places[line]]) }
            places[line] += 1
        }
        let isSame = told == sent
        #expect(isSame, "seed \(seed)")
    }
}
