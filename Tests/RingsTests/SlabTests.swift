import Testing

@testable import Rings

/// What is put into a slab stays where it is until it is taken out.
@Suite struct SlabTests {
    /// Says when it goes.
    private struct Guest: ~Copyable {
        var name: String
        let gone: Names

        deinit { gone.names.append(name) }
    }

    private final class Names {
        var names: [String] = []
    }

    @Test func anElementGoesOnce() {
        let gone = Names()
        do {
            var slab = Slab<Guest>()
            for (index, name) in ["a", "b", "c"].enumerated() { slab.insert(Guest(name: name, gone: gone), at: index) }
            slab.remove(1)
            #expect(gone.names == ["b"])
            slab.remove(1)
            slab.remove(7)
            slab.insert(Guest(name: "d", gone: gone), at: 0)
            #expect(gone.names == ["b", "a"], "another takes its place")
        }
        #expect(gone.names.sorted() == ["a", "b", "c", "d"])
    }

    @Test func aNumberIsFreeOnceItsElementIsGone() {
        var slab = Slab<Guest>()
        #expect(slab.vacancy == 0 && slab.indices.isEmpty && !slab.contains(0) && !slab.contains(-1))
        slab.insert(Guest(name: "a", gone: Names()), at: 0)
        slab.insert(Guest(name: "c", gone: Names()), at: 2)
        #expect(slab.vacancy == 1 && slab.indices == 0..<3 && !slab.contains(1))
        slab.insert(Guest(name: "b", gone: Names()), at: slab.vacancy)
        #expect(slab.vacancy == 3 && slab.contains(1))
        slab.remove(0)
        #expect(slab.vacancy == 0 && !slab.contains(0) && slab[1].name == "b" && slab[2].name == "c")
    }

    @Test func severalAreChangedAtOnce() {
        func swapNames(_ first: inout Guest, _ second: inout Guest) { swap(&first.name, &second.name) }
        var slab = Slab<Guest>()
        slab.insert(Guest(name: "a", gone: Names()), at: 0)
        slab.insert(Guest(name: "b", gone: Names()), at: 1)
        swapNames(&slab[0], &slab[1])
        #expect(slab[0].name == "b" && slab[1].name == "a")
    }

    @Test func anElementStaysWhereItIsWhenOthersCome() {
        func address(_ guest: inout Guest) -> UInt { withUnsafePointer(to: &guest) { UInt(bitPattern: $0) } }
        var slab = Slab<Guest>()
        slab.insert(Guest(name: "a", gone: Names()), at: 0)
        let before = address(&slab[0])
        for index in 1..<1000 { slab.insert(Guest(name: "\(index)", gone: Names()), at: index) }
        #expect(address(&slab[0]) == before && slab[999].name == "999" && slab.vacancy == 1000)
        for index in 1..<1000 where index != 40 { slab.remove(index) }
        #expect(address(&slab[0]) == before && slab[40].name == "40" && slab.vacancy == 1 && slab.indices == 0..<1000)
    }

    @Test func nothingIsTakenOutThatIsInUse() async {
        await #expect(processExitsWith: .failure) {
            final class Room {
                var slab = Slab<Guest>()
                func use(_ guest: inout Guest) {
                    slab.remove(0)
                    guest.name = "gone"
                }
            }
            let room = Room()
            room.slab.insert(Guest(name: "a", gone: Names()), at: 0)
            room.use(&room.slab[0])
        }
    }
}
