/// Writes metrics in the Prometheus text format (version 0.0.4), by the conventions of OpenMetrics: base units, `_total` for counters.
struct Exposition {
    enum Kind: String { case counter, gauge }

    typealias Labels = KeyValuePairs<String, String>

    private(set) var text = ""
    private var name = ""

    /// Starts a metric; its samples follow.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    /// A metric with one sample.
    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
        metric(name, kind, help)
        sample([:], "\(value)")
    }

    mutating func metric(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        metric(name, kind, help)
        sample([:], "\(value)")
    }

    mutating func sample(_ labels: Labels, _ value: some BinaryInteger) { sample(labels, "\(value)") }

    mutating func sample(_ labels: Labels, _ value: Double) { sample(labels, "\(value)") }

    private mutating func sample(_ labels: Labels, _ value: String) {
        text += name + Self.braces(labels) + " " + value + "\n"
    }

    /// Histograms of times in seconds, each with its own label.
    mutating func histogram(_ name: String, _ help: String, _ label: String, _ histograms: [(String, Histogram)]) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) histogram\n"
        for (value, histogram) in histograms {
            var count: UInt64 = 0
            for (place, bucket) in histogram.counts.enumerated() {
                count &+= bucket
                let bound = place < histogram.bounds.count ? "\(Double(histogram.bounds[place]) / 1_000_000_000)" : "+Inf"
                text += name + "_bucket" + Self.braces([label: value, "le": bound]) + " \(count)\n"
            }
            text += name + "_sum" + Self.braces([label: value]) + " \(Double(histogram.sum) / 1_000_000_000)\n"
            text += name + "_count" + Self.braces([label: value]) + " \(count)\n"
        }
    }

    private static func braces(_ labels: Labels) -> String {
        guard !labels.isEmpty else { return "" }
        return "{" + labels.map { "\($0.key)=\"\(escaped($0.value))\"" }.joined(separator: ",") + "}"
    }

    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\n") }) else { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
