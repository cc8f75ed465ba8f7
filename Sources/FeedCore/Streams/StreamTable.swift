/// The streams, by their name, and by the index under which connections know them.
struct StreamTable: Sendable {
    private var machines: [StreamMachine?] = []
    private var indicesByName: [FuturesServiceStreamName: Int] = [:]
    private var free: [Int] = []

    /// All places, used or not, in the order in which streams take their turns.
    var indices: Range<Int> { machines.indices }
    var names: Dictionary<FuturesServiceStreamName, Int>.Keys { indicesByName.keys }
    /// The indices of all streams, lowest first.
    var usedIndices: [Int] { indicesByName.values.sorted() }
    var isEmpty: Bool { indicesByName.isEmpty }
    /// How many places no stream uses, for tests.
    var freeCount: Int { free.count }

    func index(of name: FuturesServiceStreamName) -> Int? { indicesByName[name] }

    /// The stream at a place, which must be one of `indices`; nil if there is none. It is changed in place.
    subscript(index: Int) -> StreamMachine? {
        // `get` would copy the whole stream for each field that is read.
        @inline(__always) _read { yield machines[index] }
        @inline(__always) _modify { yield &machines[index] }
    }

    /// Passes a message to the stream at a place. The coroutine of the subscript would allocate memory for each message.
    mutating func receive(_ index: Int, _ rows: consuming FeedRows, eventTime: Int64?, from slot: Int, _ feed: inout FeedContext) {
        machines[index]?.receive(rows, eventTime: eventTime, from: slot, &feed)
    }

    /// The stream with this name; nil if there is none. It is changed in place.
    subscript(name: FuturesServiceStreamName) -> StreamMachine? {
        _read { if let index = indicesByName[name] { yield machines[index] } else { yield nil } }
        _modify {
            var none: StreamMachine?
            if let index = indicesByName[name] { yield &machines[index] } else { yield &none }
        }
    }

    /// The index for the next stream that is added.
    var nextIndex: Int { free.last ?? machines.count }

    /// Adds a stream that was made with `nextIndex`.
    mutating func add(_ stream: StreamMachine) {
        indicesByName[stream.name] = stream.index
        if stream.index == machines.count {
            machines.append(stream)
        } else {
            free.removeLast()
            machines[stream.index] = stream
        }
    }

    mutating func remove(_ index: Int) {
        guard let name = self[index]?.name else { return }
        indicesByName[name] = nil
        machines[index] = nil
        free.append(index)
    }
}
