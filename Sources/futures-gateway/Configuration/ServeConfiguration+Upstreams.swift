import FuturesFeed
import Glibc

extension ServeConfiguration {
    /// Reads the upstreams from the configuration file's section, or from the file named by the flag or the environment, and adds the venues behind
    /// the first one that it does not configure. Reports at most one mistake per upstream.
    ///
    /// Returns their configuration.
    static func readUpstreams(
        _ settings: Settings<ServeSettings>, _ environment: [String: String], into feed: inout FuturesFeedConfiguration, mistakes: inout [String]
    ) -> [String] {
        defer {
            for venue in (settings.venue ?? []).dropFirst() where !feed.upstreamNames.contains(venue.rawValue) && venue.rawValue != feed.venue.name {
                do throws(FeedError) { try feed.readUpstreams(venue.upstream) { _ in nil } } catch { mistakes.append(error.message) }
            }
        }
        guard let given = settings.given(settings.list.upstreams) else { return [] }
        let source: ConfigurationFile
        let entries: [ConfigurationFile.Entry]
        if let file = settings.file, let section = given.section {
            (source, entries) = (file, section)
        } else {
            do throws(Mistakes) { source = try readConfigurationFile(given.text) } catch {
                mistakes += error.sentences.map { "\(given.place): \($0)" }
                return []
            }
            entries = source.entries
        }
        let objects = entries.map { "{\(quoted($0.name)):\($0.json)}" }
        for (entry, object) in zip(entries, objects) {
            do throws(FeedError) { try feed.readUpstreams(object) { secret($0, environment) } } catch {
                mistakes.append("\(source.place(entry)): \(error.message)")
            }
        }
        return objects
    }

    /// The secret that a file refers to: an environment variable, or, as `file:PATH`, the first line of a file.
    private static func secret(_ name: String, _ environment: [String: String]) -> String? {
        guard name.hasPrefix("file:") else { return environment[name] }
        return text(ofFile: String(name.dropFirst(5)))?.split(separator: "\n").first.map(String.init)
    }
}

/// - Throws: `Mistakes`, with one mistake, if the file cannot be read.
func readConfigurationFile(_ path: String) throws(Mistakes) -> ConfigurationFile {
    guard let text = text(ofFile: path) else { throw Mistakes(sentences: ["\(path) cannot be read; check the path and the permissions."]) }
    return try ConfigurationFile(text, path: path)
}

/// The text of a file, at most 16 MiB; nil if it cannot be read.
func text(ofFile path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < 1 << 24 {
        let count = fread(&chunk, 1, chunk.count, file)
        guard count > 0 else { break }
        bytes += chunk[..<count]
    }
    return ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
}
