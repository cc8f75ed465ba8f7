"""Numbers and lists of the documents, held against the constants of the sources."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def text(name):
    return (ROOT / name).read_text()


def found(pattern, name, flags=0):
    match = re.search(pattern, text(name), flags)
    if not match:
        raise AssertionError(f"{name} does not have {pattern}")
    return match[1]


def product(code):
    """The value of a constant such as `16 << 10` or `8_388_608`."""
    words = code.replace("_", "").split("<<")
    return int(words[0]) << (int(words[1]) if len(words) > 1 else 0)


def deadline(name):
    return found(rf"{name}: Duration = \.seconds\((\d+)\)", "Sources/MicroHTTP/Server/HTTPServerConfiguration.swift")


class SecurityTests(unittest.TestCase):
    """Each number of SECURITY.md that is a constant of the sources."""

    def says(self, *sentences):
        security = " ".join(text("SECURITY.md").split())
        for sentence in sentences:
            self.assertIn(sentence, security)

    def test_deadlines(self):
        self.says(
            f"{deadline('headerDeadline')} s for a head, {deadline('bodyDeadline')} s for a body (`header-deadline`, `body-deadline`); "
            f"{deadline('keepAliveIdle')} s idle")

    def test_sizes_of_requests(self):
        target = product(found(r"maximumTargetBytes = ([\d_<< ]+)", "Sources/MicroHTTP/Limits.swift"))
        head = product(found(r"static let connectionMemory = ([\d_<< ]+)", "Sources/MicroHTTP/Limits.swift")) - int(
            found(r"maximumHeadMemory = HTTPServer.connectionMemory - (\d+)", "Sources/MicroHTTP/Request/RequestGuard.swift"))
        body = product(found(r"static let maximumBodyBytes = ([\d_<< ]+)", "Sources/FuturesGateway/Limits.swift"))
        usual = product(found(r"maximumBodyBytes: Int = ([\d_<< ]+)", "Sources/MicroHTTP/Server/HTTPServerConfiguration.swift"))
        self.says(f"{target >> 10} KiB of address, {head >> 10} KiB of head; {usual >> 10} KiB of body, {body >> 10} KiB on `/mcp`")

    def test_readers_that_do_not_read(self):
        stopped = found(r"stoppedReader: Duration = \.seconds\((\d+)\)", "Sources/FuturesGateway/Limits.swift")
        self.says(f"`slow` after {stopped} s")

    def test_messages_and_answers_of_the_venue(self):
        engine = "Sources/FuturesFeed/Engine/FeedEngine"
        answers = product(found(r"allowing\(bodyBytes: ([\d_<< ]+)", f"{engine}.swift")) >> 20
        messages = product(found(r"limits\.maximumMessageBytes = ([\d_<< ]+)", f"{engine}+Connecting.swift")) >> 20
        depth = found(r"guard depth <= (\d+)", "Sources/FeedDialects/JSONReader.swift")
        self.says(f"messages of {messages} MiB, answers of {answers} MiB, JSON {depth} deep at most")

    def test_the_one_address_with_a_key(self):
        """A key is read from the paths below `/k/KEY`, as SECURITY.md says; no other route has one."""
        routes = [file for file in (ROOT / "Sources" / "FuturesGateway").rglob("*.swift") if re.search(r'router\.on\(|for prefix in .*"/k/\{key\}"', file.read_text()) and "{key}" in file.read_text()]
        self.assertEqual(sorted(file.name for file in routes), ["SocketHandlers.swift", "VenueHandlers.swift"])
        self.says("A key is read from an address in one place, below `/k/KEY/`")
        self.assertNotIn("Keys and tokens are never read from an address", text("SECURITY.md"))

    def test_the_routes_that_read_a_body(self):
        posts = set(re.findall(r'router\.on\("POST", "(/[^"]*)"', text("Sources/FuturesGateway/Routes.swift")))
        self.assertIn("/mcp", posts)
        self.says("Only `POST /mcp` reads a body")
        readers = [file.name for file in (ROOT / "Sources" / "FuturesGateway").rglob("*.swift") if re.search(r"request\.body\b", file.read_text())]
        self.assertEqual(sorted(set(readers)), ["AgentHandlers.swift"])


class ComparisonTests(unittest.TestCase):
    def test_the_clients_are_those_that_there_are(self):
        row = found(r"(?m)^\| client libraries \| ([^|]*) \|", "docs/reference/compare.md")
        self.assertEqual(row, "JavaScript, TypeScript, Swift, Python")
        self.assertEqual({folder.name for folder in (ROOT / "clients").iterdir() if folder.is_dir()}, {"python", "typescript"})

    def test_the_cluster_is_not_denied(self):
        self.assertNotRegex(" ".join(text("docs/reference/faq.md").split()), r"no cluster\b|and no cluster")


class ChangelogTests(unittest.TestCase):
    def test_an_entry_has_two_lines_at_most(self):
        entries = re.split(r"(?m)^- ", text("CHANGELOG.md"))[1:]
        for entry in entries:
            lines = entry.split("\n\n")[0].rstrip().split("\n")
            self.assertLessEqual(len(lines), 2, entry)

    def test_nothing_is_told_of_what_was_never_released(self):
        self.assertNotRegex(text("CHANGELOG.md"), r"(?i)mended|fixed|\bno longer\b|\bwhere it (had|took)\b")


if __name__ == "__main__":
    unittest.main()
