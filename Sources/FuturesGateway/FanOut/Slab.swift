/// Elements that stay where they are until they are taken out, each found by a small number that the next one may have then.
///
/// Any number of them can be used and changed at once, since each is a place of its own; to put one in or take one out is to change the slab,
/// which nobody can while one of them is in use.
struct Slab<Element: ~Copyable>: ~Copyable {
    private var places: [UnsafeMutablePointer<Element>?] = []

    /// The numbers there have been.
    var indices: Range<Int> { places.indices }

    /// The lowest number that no element has.
    var vacancy: Int { places.firstIndex { $0 == nil } ?? places.count }

    deinit {
        for case let place? in places { Self.free(place) }
    }

    func contains(_ index: Int) -> Bool { places.indices.contains(index) && places[index] != nil }

    subscript(index: Int) -> Element {
        @inline(__always) _read { yield place(index).pointee }
        @inline(__always) nonmutating _modify { yield &place(index).pointee }
    }

    mutating func insert(_ element: consuming Element, at index: Int) {
        remove(index)
        while places.count <= index { places.append(nil) }
        let place = UnsafeMutablePointer<Element>.allocate(capacity: 1)
        place.initialize(to: element)
        places[index] = place
    }

    mutating func remove(_ index: Int) {
        guard contains(index), let place = places[index] else { return }
        places[index] = nil
        Self.free(place)
    }

    @inline(__always) private func place(_ index: Int) -> UnsafeMutablePointer<Element> {
        guard let place = places[index] else { preconditionFailure("The slab has no element \(index).") }
        return place
    }

    private static func free(_ place: UnsafeMutablePointer<Element>) {
        place.deinitialize(count: 1)
        place.deallocate()
    }
}
