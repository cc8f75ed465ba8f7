/// Holds elements, each at a fixed address and under a small number, which another element may have once this one is gone.
///
/// A program can change several elements at once, since each has a place of its own. To insert or remove one changes the slab itself, and Swift's check
/// of exclusive access ends a program that does so while it uses an element.
///
/// It is public because Swift 6.3 specialises a generic type of another module only if it is; no product has this module.
public struct Slab<Element: ~Copyable>: ~Copyable {
    @usableFromInline var places: [UnsafeMutablePointer<Element>?] = []

    /// An empty slab.
    @inlinable public init() {}

    /// All numbers that elements have or have had.
    @inlinable public var indices: Range<Int> { places.indices }

    /// The lowest number that no element has.
    @inlinable public var vacancy: Int { places.firstIndex { $0 == nil } ?? places.count }

    @inlinable deinit {
        for case let place? in places { Self.free(place) }
    }

    /// Whether an element has this number.
    @inlinable public func contains(_ index: Int) -> Bool { places.indices.contains(index) && places[index] != nil }

    /// The element with this number; there has to be one.
    public subscript(index: Int) -> Element {
        @inlinable @inline(__always) _read { yield place(index).pointee }
        @inlinable @inline(__always) nonmutating _modify { yield &place(index).pointee }
    }

    /// Inserts an element; removes the one that had its number.
    @inlinable public mutating func insert(_ element: consuming Element, at index: Int) {
        remove(index)
        while places.count <= index { places.append(nil) }
        let place = UnsafeMutablePointer<Element>.allocate(capacity: 1)
        place.initialize(to: element)
        places[index] = place
    }

    /// Removes the element with this number, if there is one.
    @inlinable public mutating func remove(_ index: Int) {
        guard contains(index), let place = places[index] else { return }
        places[index] = nil
        Self.free(place)
    }

    @inlinable @inline(__always) func place(_ index: Int) -> UnsafeMutablePointer<Element> {
        guard let place = places[index] else { preconditionFailure("The slab has no element \(index).") }
        return place
    }

    @inlinable static func free(_ place: UnsafeMutablePointer<Element>) {
        place.deinitialize(count: 1)
        place.deallocate()
    }
}
