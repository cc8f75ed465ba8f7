import MicroHTTP

extension ServeConfiguration {
    /// The certificate from `tls-certificate` and `tls-key`; nil if there is none, or if it is invalid.
    static func identity(_ settings: Settings<ServeSettings>, mistakes: inout [String]) -> TLSIdentity? {
        let (certificate, key) = (settings.list.tlsCertificate, settings.list.tlsKey)
        guard let chain = settings.given(certificate), let secret = settings.given(key) else {
            for (given, missing) in [(certificate, key), (key, certificate)] where settings.given(given) != nil {
                mistakes.append("\(settings.given(given)?.subject(given) ?? "") needs \(missing.name) too.")
            }
            return nil
        }
        let texts = [chain, secret].map { text(ofFile: $0.text) }
        for (given, text) in zip([chain, secret], texts) where text == nil {
            mistakes.append("\(given.place): \(given.text) cannot be read; check the path and the permissions.")
        }
        guard let chainText = texts[0], let secretText = texts[1] else { return nil }
        do throws(HTTPServerError) {
            return try TLSIdentity(certificateChain: Array(chainText.utf8), privateKey: Array(secretText.utf8))
        } catch {
            mistakes.append("\(chain.place): \(error.message)")
            return nil
        }
    }
}
