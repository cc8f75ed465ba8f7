"""The documents are written as CONTRIBUTING.md asks ("English"): each pattern below is a habit that makes a sentence hard to read.

The comments of the Swift folders in `SWIFT` are checked as well. A use that is right is counted in `ALLOWED`.
"""

import functools
import pathlib
import re
import unittest
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs"]
SWIFT = [""]
"""Folders below `Sources` whose comments are checked; "" is all of them."""


@dataclass(frozen=True)
class Rule:
    name: str
    pattern: str
    instead: str

    @functools.cached_property
    def expression(self):
        return re.compile(self.pattern)


RULES = [
    Rule("clause as a noun", r"\b(?:[Ww]hoever|[Ww]hatever|[Ww]ho|[Ww]hat) (?:is|was|has|have|comes|came|asks|reads|needs|follows|piled|waits|goes|fits|stands|writes|wrote|takes|"
         r"they|it|he|readers|others|the|somebody|nobody|a)\b", 'name the thing: write "missing messages" for "what is missing", "readers" for "whoever reads"'),
    Rule("those who", r"\b(?:[Tt]hose (?:who|that)|for who|of whoever)\b", 'name the people or things: write "the following events" for "those that follow"'),
    Rule("passive of tell", r"\b(?:is|are|was|were|be|been) told\b|\btells?\b", 'say who sends or reports what: write "the gateway sends `disconnect`" for "readers are told"'),
    Rule("of and an adverb", r"\bof (?:before|then|now|no matter|no use)\b", 'write "earlier", "of that time" or "current" for "of before", "of then", "of now"'),
    Rule("vague verb", r"\b(?:[Gg]ives? way|[Gg]ives? out|given out|[Gg]oes on|[Gg]o on with|[Gg]oes back|[Cc]omes? to (?:nothing|its end|be)|at once|in its turn|lets? go of|wanted no more)\b",
         'write "continues", "is replaced by", "results in", "immediately", "at the same time"'),
    Rule("stands", r"\b(?:[Ss]tands?|stood)\b(?! by\b)", 'write "is active", "is", "replaces" or "means"'),
    Rule("somebody", r"\b(?:[Ss]omebody|[Nn]obody|[Aa]nybody|[Ee]verybody|[Nn]o ?one)\b", 'name the actor: write "another reader", "no reader", "every client"'),
    Rule("so many", r"\bso (?:many|much|early|lately)\b|\bas far as\b", 'give the number, or write "this many", "until now", "if"'),
    Rule("anew", r"\b(?:anew|mended|meanwhile|of the same kind as)\b", 'write "again", "fixed", "in the meantime" or "while"'),
    Rule("proved", r"\b(?:is|are|was|were|not) prove[dn] to be\b|\bbelieved?\b", 'write "verified", "plausible" or "accepted"'),
    Rule("what it is for", r"\bis (?:there|what) for\b|\bhas to\b|\bhave to be\b", 'write "must"'),
    Rule("British spelling", r"\b\w*(?:behaviour|colour|favour|honour|neighbour|licence|recognis|organis|serialis|initialis|normalis|synchronis|acknowledgement|cancelling|catalogued)\w*\b",
         "use American spelling: behavior, color, license, recognize"),
]

LONG = Rule("long sentence", "", "split it: a sentence has one idea, and at most 25 words")
MOST_WORDS = 35
"""Beyond this a sentence is refused. The aim is 25."""

ALLOWED = {
    "docs/reference/compare.md": {"long sentence": 1},
    # The name of a parameter.
    "Sources/Tape/Recording/VenueFrameTape.swift": {"passive of tell": 1},
    "Sources/Tape/Recording/Tape.swift": {"passive of tell": 1},
}
"""By file and name of the rule: how many uses are right."""


def blank(match):
    """As many lines as before, and nothing in them."""
    return "\n" * match[0].count("\n")


def prose(text):
    """A document without code, addresses, tables' lines of dashes, and generated tables."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", blank, text)
    text = re.sub(r"(?ms)^## All settings\n.*?(?=^## |\Z)", blank, text)
    text = re.sub(r"`[^`\n]*`", "`…`", text)
    text = re.sub(r"\]\([^)\s]*\)|<https?:[^>]*>", "", text)
    return re.sub(r"\*\*|\[(?=[^\]]*$)", "", text)


def comments(text):
    """The comments of a Swift file at their lines."""
    lines = [match[1] if (match := re.match(r"\s*///?(?!/) ?(.*)", line)) else "" for line in text.splitlines()]
    return re.sub(r"`[^`\n]*`", "`…`", "\n".join(lines))


def sources():
    """Each file with its text as it is to be read."""
    for name in DOCUMENTS:
        for file in sorted((ROOT / name).rglob("*.md")) if (ROOT / name).is_dir() else [ROOT / name]:
            yield file.relative_to(ROOT).as_posix(), prose(file.read_text())
    for folder in SWIFT:
        for file in sorted((ROOT / "Sources" / folder).rglob("*.swift")):
            yield file.relative_to(ROOT).as_posix(), comments(file.read_text())


def sentences(text):
    """Each sentence of the paragraphs and lists, with its place. Rows of tables and headings are none."""
    text = re.sub(r"(?m)^(?:\||#).*$", lambda match: " " * len(match[0]), text)
    for paragraph in re.finditer(r"\S(?:.|\n(?!\s*\n|\s*[-*] |\s*\d+\. ))*", text):
        for sentence in re.finditer(r"\S.*?(?:[.!?:;](?=\s)|\Z)", paragraph[0], re.S):
            yield paragraph.start() + sentence.start(), sentence[0]


def findings(text):
    """Each rule that a text breaks, with the line and its words. A sentence may go over the end of a line."""
    for place, sentence in sentences(text):
        if len(sentence.split()) > MOST_WORDS:
            yield LONG, text.count("\n", 0, place) + 1, " ".join(sentence.split())[:80]
    flat = text.replace("\n", " ")
    for rule in RULES:
        for match in rule.expression.finditer(flat):
            yield rule, text.count("\n", 0, match.start()) + 1, flat[max(0, match.start() - 40) : match.end() + 20].strip()


class LanguageTests(unittest.TestCase):
    def test_every_document_follows_the_rules(self):
        for name, text in sources():
            by_rule = {}
            for rule, line, words in findings(text):
                by_rule.setdefault(rule, []).append(f"{name}:{line}: …{words}…")
            for rule, found in by_rule.items():
                allowed = ALLOWED.get(name, {}).get(rule.name, 0)
                with self.subTest(file=name, rule=rule.name):
                    self.assertLessEqual(len(found), allowed, f"{rule.name}: {rule.instead}\n" + "\n".join(found))

    def test_no_allowance_is_larger_than_its_use(self):
        texts = dict(sources())
        for name, allowances in ALLOWED.items():
            used = [rule.name for rule, _, _ in findings(texts[name])]
            for rule, count in allowances.items():
                with self.subTest(file=name, rule=rule):
                    self.assertEqual(used.count(rule), count)

    def test_each_habit_is_found(self):
        for name, text in [
            ("clause as a noun", "Ask for what is missing."), ("those who", "It serves those that follow."), ("passive of tell", "Readers are\ntold a gap."),
            ("of and an adverb", "Ids of before are a reset."), ("vague verb", "The stream goes on."), ("stands", "The subscription stands."),
            ("somebody", "Somebody reads it."), ("so many", "So are so many numbers."), ("anew", "It begins anew."), ("proved", "Silence is believed."),
            ("what it is for", "A key has to be shown."), ("long sentence", "The gateway reads, " + "and writes, " * 17 + "and ends."), ("British spelling", "The licence of the behaviour."),
        ]:
            with self.subTest(rule=name):
                self.assertIn(name, {rule.name for rule, _, _ in findings(prose(text))})

    def test_plain_sentences_and_code_are_taken(self):
        for text in ["The gateway sends `disconnect`.", "```sh\ntell nobody\n```", "`what is`", "A standalone gateway.", "See [what](what-is.md)."]:
            self.assertEqual([rule.name for rule, _, _ in findings(prose(text))], [], text)

    def test_comments_are_read_at_their_lines(self):
        self.assertEqual([(rule.name, line) for rule, line, _ in findings(comments("let a = 1\n/// Told to\n/// nobody.\nlet nobody = 2"))], [("somebody", 3)])


if __name__ == "__main__":
    unittest.main()
