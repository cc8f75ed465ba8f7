extension String {
    /// Creates a string from UTF-8 bytes; nil if they are not valid UTF-8.
    package init?(utf8 bytes: some Collection<UInt8>) {
        #if canImport(Darwin)
            // `String(validating:as:)` needs iOS 18 and macOS 15. `String(decoding:as:)` repairs invalid bytes, so the result must be compared.
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.utf8.elementsEqual(bytes) else { return nil }
            self = text
        #else
            self.init(validating: bytes, as: UTF8.self)
        #endif
    }
}
