/// Elements that stay where they are until they are taken out, each found by a small number that another one may have afterwards.
///
/// Several can be changed at once, since each has a place of its own. Putting one in or taking one out changes the slab itself, and Swift's check of
/// exclusive access ends a program that does it while an element is in use.
struct Slab<Element: ~Copyable>: ~Copyable {
    private var places: [UnsafeMutablePointer<Element>?] = []

    /// All numbers that elements have or had.
    var indices: Range<Int> { places.indices }

    /// The lowest number that no element has.
    var vacancy: Int { places.firstIndex { $0 == nil } ?? places.count }

    deinit {
        for case let place? in places { Self.free(place) }
    }

    func contains(_ index: Int) -> Bool { places.indices.contains(index) && places[index] != nil }

    /// The element of a number that has one.
    subscript(index: Int) -> Element {
        @inline(__always) _read { yield place(index).pointee }
        @inline(__always) nonmutating _modify { yield &place(index).pointee }
    }

    /// Puts an element in; one that had the number goes.
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
