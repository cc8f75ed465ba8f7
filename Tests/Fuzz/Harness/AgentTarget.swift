import GatewayAccess

/// What reads agents' messages, and tokens and keys, takes JSON alone, and nothing that is nested too deeply or says something twice.
enum AgentTarget {
    static func run(_ input: UnsafeBufferPointer<UInt8>) {
        guard let json = GatewayAccess.StrictJSON(input) else { return }
        guard let depth = StrictJSON.depth(of: input) else { return promise(false, "it takes what is no JSON") }
        promise(depth <= 16, "it takes \(depth) levels")
        _ = (json.object, json.array, json.string, json.integer, json.strings)
    }
}
