import Testing

@testable import GatewayAccess

@Suite struct KeySetTests {
    private let issuer = Issuer()

    private func refusal(_ keys: String) -> String? {
        do throws(AccessError) { _ = try KeySet(json: keys, sharedSecrets: true) } catch { return error.message }
        return nil
    }

    @Test(arguments: [
        ("{}", "not a JSON object with a list of keys"), ("[]", "not a JSON object"), (#"{"keys":[]}"#, "0 keys"),
        (#"{"keys":[1]}"#, "Key 1 of the key set is not an object"),
        (#"{"keys":[{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}]}"#, "not of a supported kind"),
        (#"{"keys":[{"kid":"a"}]}"#, "not of a supported kind"),
        (#"{"keys":[{"kty":"oct","k":"AAAA"}]}"#, "shorter than 256 bits"),
        (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "shorter than 2048 bits"),
        (#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#, "not a valid key"), (#"{"keys":[{"kty":"OKP","crv":"Ed25519"}]}"#, "lacks x"),
        (#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"!!"}]}"#, "not base64url"),
        (#"{"keys":[{"kty":"OKP","crv":"X25519","x":"AA"}]}"#, "not of a supported kind"),
        (#"{"keys":[{"use":"enc"}]}"#, "no key for signatures"), (#"{"keys":[],"keys":[]}"#, "not a JSON object"),
    ])
    func aKeySetThatIsNoneSaysWhy(text: String, sentence: String) {
        let message = refusal(text)
        #expect(message?.contains(sentence) == true, "\(message ?? "")")
    }

    @Test func keysNeedNamesOfTheirOwnAndTheRightAlgorithm() throws {
        let (first, second) = (issuer.ellipticKey, issuer.edwardsKey)
        #expect(refusal(#"{"keys":[\#(first),\#(first)]}"#)?.contains("the same kid as another") == true)
        #expect(refusal(#"{"keys":[\#(first),\#(second.replacing(#""kid":"ed","#, with: ""))]}"#)?.contains("has no kid") == true)
        #expect(refusal(#"{"keys":[\#(first.dropLast()),"alg":"ES384"}]}"#)?.contains("another algorithm") == true)
        #expect(refusal(#"{"keys":[\#(first.dropLast()),"d":"AAAA"}]}"#)?.contains("private key") == true)
        #expect(refusal(#"{"keys":[\#(first),\#(second),\#(try Issuer.rsaKey),\#(issuer.secretKey)]}"#) == nil)
    }
}
