"""The modules of the page are short and plain: at most 150 lines, one statement a line, no assignment by destructuring, no unused import or export.

This replaces ESLint, which would need a download.
"""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "Sources/FuturesGateway/Web"
MODULES = [file for file in sorted(WEB.glob("*.js")) if file.name != "lightweight-charts.js"]
TESTS = sorted((ROOT / "Tests/Browser").glob("*.mjs"))
MOST_LINES = 150
# The published module consists of four files; see docs/read/browser.md.
LONGER = {"client.js": 232, "connection.js": 220}

TOKENS = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|[^`\\])*`|(?<=[(,=:!&|?{};\s])/(?![/*\s])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n])+/[gimsuy]*",
    re.S)

RULES = {
    "one statement a line": re.compile(r";.*;"),
    "`var`": re.compile(r"\bvar\b"),
    "`==` instead of `===`": re.compile(r"(?<![=!<>])==(?!=)|!=(?!=)"),
    "a condition as a statement": re.compile(r"^\s*(?!return\b|const\b|let\b|if\b|while\b|export\b|throw\b|for\b|case\b)[\w.#$?!()\[\]']+ (?:&&|\|\|) .*;$"),
    "an assignment by destructuring": re.compile(r"^\s*(?:if \(.*\) )?\[.*\] = |[;{] \[[^\]]*\] = "),
    "two assignments in one statement": re.compile(r"^\s*[\w.#$()\[\]']+ = [\w.#$()\[\]']+ = "),
    "a block on one line": re.compile(r"(?<!\$)\{ [^{}]*;\s*\}(?!\s*from)"),
}


def plain(text):
    """The code without comments, and with empty texts and expressions; each line keeps its place."""
    def blank(match):
        token = match[0]
        if token.startswith("/"):
            return "\n" * token.count("\n") if token.startswith(("//", "/*")) else "/x/"
        return "''" + "\n" * token.count("\n")
    return TOKENS.sub(blank, text)


def findings(text):
    """Each broken rule with the number of its line."""
    # A function on one line may have one statement.
    for number, line in enumerate(plain(text).split("\n"), 1):
        line = re.sub(r"\bfor \([^)]*\)", "for ()", line)
        for name, rule in RULES.items():
            if rule.search(line) and not (name == "a block on one line" and re.search(r"\{ (?:return [^;]*|[^;]*);? \}[,;)]*$", line) and line.count(";") <= 1):
                yield name, number


def imports(text):
    return [name.split(" as ")[-1].strip() for names in re.findall(r"^import \{([^}]*)\} from", text, re.M) for name in names.split(",") if name.strip()]


def exports(text):
    return re.findall(r"^export (?:async )?(?:const|let|function|class) (\w+)", text, re.M)


class ModuleTests(unittest.TestCase):
    def test_modules_are_short(self):
        for file in MODULES:
            with self.subTest(module=file.name):
                self.assertLessEqual(file.read_text().count("\n"), LONGER.get(file.name, MOST_LINES))

    def test_each_line_has_one_plain_statement(self):
        for file in MODULES:
            found = [f"{file.name}:{line}: {name}" for name, line in findings(file.read_text())]
            with self.subTest(module=file.name):
                self.assertEqual(found, [])

    def test_each_import_is_used(self):
        for file in MODULES:
            text = plain(file.read_text()) + " ".join(re.findall(r"\$\{[^}]*\}?", file.read_text()))
            for name in imports(file.read_text()):
                with self.subTest(module=file.name, name=name):
                    self.assertGreaterEqual(len(re.findall(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)), 2)

    def test_each_export_is_imported(self):
        texts = {file: file.read_text() for file in [*MODULES, *TESTS, *WEB.parents[2].glob("docs/read/browser.md")]}
        for file in MODULES:
            others = {name for other, text in texts.items() if other != file for name in re.findall(r"\w+", " ".join(re.findall(r"\{([^}]*)\} from", text)))}
            for name in exports(texts[file]):
                with self.subTest(module=file.name, name=name):
                    self.assertIn(name, others)

    def test_each_habit_is_found(self):
        for name, text in {
            "one statement a line": "a(); b();", "`var`": "var a = 1;", "`==` instead of `===`": "if (a == b) c();", "a condition as a statement": "a && b();",
            "an assignment by destructuring": "  [this.#a, b] = [c, d];", "two assignments in one statement": "a.hidden = b.hidden = true;", "a block on one line": "if (a) { b = 1; c = 2; }",
        }.items():
            with self.subTest(rule=name):
                self.assertIn(name, [rule for rule, _ in findings(text)])

    def test_plain_code_is_accepted(self):
        for text in ["const [a, b] = [1, 2];", "for (const [a] of b) c(a);", "for (let a = 0; a < 2; a += 1) b();", "a = 'x; y; z';", "b(`${a}; ${b};`);", "// a; b; var", "c = /;;/g;"]:
            self.assertEqual(list(findings(text)), [], text)


if __name__ == "__main__":
    unittest.main()
