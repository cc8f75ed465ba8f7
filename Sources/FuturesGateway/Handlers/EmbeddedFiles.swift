import CFiles

/// Files that are part of the program: the page's, the contract and the tools of agents.
enum EmbeddedFiles {
    /// The names of all files, without folders.
    static let names = Array(places.keys)

    /// A copy of a file's bytes; empty if `CFiles` has no such file.
    static func bytes(_ name: String) -> [UInt8] {
        guard let place = places[name] else { return [] }
        let file = embedded_files()[place]
        return Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
    }

    private static let places: [String: Int] = {
        var places: [String: Int] = [:]
        while let path = embedded_files()[places.count].path {
            let name = String(cString: path).split(separator: "/").last.map(String.init) ?? ""
            places[name] = places.count
        }
        return places
    }()
}
