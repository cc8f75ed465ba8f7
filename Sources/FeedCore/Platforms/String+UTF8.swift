extension String {
    /// The text that the bytes are in UTF-8; nil if they are none.
    package init?(utf8 bytes: some Collection<UInt8>) {
        #if canImport(Darwin)
            // `String(validating:as:)` needs iOS 18 and macOS 15. What is none would be repaired, and then be another text.
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.utf8.elementsEqual(bytes) else { return nil }
            self = text
        #else
            self.init(validating: bytes, as: UTF8.self)
        #endif
    }
}
