/// A container whose elements each have a fixed address and a small number. The number is reused after the element is removed. Elements with
/// neighboring numbers share a page of memory.
///
/// Several elements can be modified at the same time, because each has its own place. Inserting or removing one modifies the slab itself. Doing so
/// while an element is in use violates Swift's exclusivity check, which ends the program.
///
/// It is public because Swift 6.3 specializes a generic type of another module only then; no product exposes this module.
public struct Slab<Element: ~Copyable>: ~Copyable {
    /// Memory for 32 elements, and a bit for each that is present.
    @usableFromInline struct Page {
        @usableFromInline let places: UnsafeMutablePointer<Element>
        @usableFromInline var taken: UInt32 = 0

        @usableFromInline init() { places = .allocate(capacity: UInt32.bitWidth) }
    }

    /// Nil for a page without elements.
    @usableFromInline var pages: [Page?] = []
    @usableFromInline var end = 0

    /// Creates an empty slab.
    @inlinable public init() {}

    /// The range of numbers that elements have or have had.
    @inlinable public var indices: Range<Int> { 0..<end }

    /// The lowest unused number.
    @inlinable public var vacancy: Int {
        let page = pages.firstIndex { $0?.taken != .max } ?? pages.count
        return page * UInt32.bitWidth + (page < pages.count ? (~(pages[page]?.taken ?? 0)).trailingZeroBitCount : 0)
    }

    @inlinable deinit {
        for case let page? in pages {
            for index in 0..<UInt32.bitWidth where page.taken & 1 &<< UInt32(index) != 0 { (page.places + index).deinitialize(count: 1) }
            page.places.deallocate()
        }
    }

    /// Whether an element has this number.
    @inlinable public func contains(_ index: Int) -> Bool {
        guard index >= 0, index < end, let page = pages[index &>> 5] else { return false }
        return page.taken & Self.bit(index) != 0
    }

    /// The element with this number, which must exist.
    public subscript(index: Int) -> Element {
        @inlinable @inline(__always) _read { yield place(index).pointee }
        @inlinable @inline(__always) nonmutating _modify { yield &place(index).pointee }
    }

    /// Inserts an element; removes the one that had its number.
    @inlinable public mutating func insert(_ element: consuming Element, at index: Int) {
        remove(index)
        let number = index &>> 5
        while pages.count <= number { pages.append(nil) }
        var page = pages[number] ?? Page()
        page.taken |= Self.bit(index)
        pages[number] = page
        (page.places + (index & 31)).initialize(to: element)
        end = max(end, index + 1)
    }

    /// Removes the element with this number, if there is one.
    @inlinable public mutating func remove(_ index: Int) {
        guard contains(index), var page = pages[index &>> 5] else { return }
        page.taken &= ~Self.bit(index)
        pages[index &>> 5] = page.taken == 0 ? nil : page
        (page.places + (index & 31)).deinitialize(count: 1)
        if page.taken == 0 { page.places.deallocate() }
    }

    @inlinable @inline(__always) static func bit(_ index: Int) -> UInt32 { 1 &<< UInt32(truncatingIfNeeded: index & 31) }

    @inlinable @inline(__always) func place(_ index: Int) -> UnsafeMutablePointer<Element> {
        guard contains(index), let page = pages[index &>> 5] else { preconditionFailure("The slab has no element \(index).") }
        return page.places + (index & 31)
    }
}
