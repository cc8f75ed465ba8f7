"""Every relative link of every Markdown file leads to a file, and its anchor to a heading."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = r"!?\[[^\]\n]*(?:\[[^\]\n]*\][^\]\n]*)?\]\(<?([^)\s>]+)>?\)"


def markdown():
    """The Markdown files of the tree that are under version control, or will be."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else []
    return [ROOT / name for name in names if (ROOT / name).exists()] or sorted((ROOT / "docs").rglob("*.md"))


def prose(text):
    """The text without blocks of code and without spans of code."""
    return re.sub(r"`[^`\n]+`(?!\])", "`code`", re.sub(r"(?ms)^ *```.*?^ *```", "", text))


def slug(heading):
    """The anchor that GitHub gives a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def anchors(text):
    found = {}
    for heading in re.findall(r"(?m)^#{1,6} +(.*?) *#*$", re.sub(r"(?ms)^ *```.*?^ *```", "", text)):
        name = slug(heading)
        found[name] = found.get(name, -1) + 1
    return {name if number == 0 else f"{name}-{number}" for name, count in found.items() for number in range(count + 1)} | set(
        re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))


def broken(text, folder):
    """The links of a text, seen from a folder, that lead nowhere."""
    found = []
    for target in re.findall(LINK, prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (folder / path) if path else None
        if file and not file.exists():
            found.append(f"{target}: there is no such file")
        elif anchor and (not file or file.suffix == ".md") and anchor not in anchors(file.read_text() if file else text):
            found.append(f"{target}: there is no such heading")
    return found


class LinkTests(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        files = markdown()
        self.assertGreater(len(files), 40)
        for file in files:
            with self.subTest(file=os.path.relpath(file, ROOT)):
                self.assertEqual(broken(file.read_text(), file.parent), [])

    def test_the_pages_that_code_names_exist(self):
        """Comments and messages name pages by their paths from the root."""
        listed = subprocess.run(["git", "grep", "-IoE", r"\bdocs/[a-z]+(/[a-z0-9-]+)?\.md", "--", "Sources", "Tests", "clients", "ops", "Examples", "Benchmarks", "Makefile",
                                 "Package.swift", "openapi.yaml", "compose.yaml"], cwd=ROOT, capture_output=True, text=True)
        named = [line.split(":", 1) for line in listed.stdout.split()]
        for file, page in named:
            if not file.startswith("Tests/Docs/"):
                with self.subTest(file=file):
                    self.assertTrue((ROOT / page).exists(), f"there is no {page}")

    def test_each_page_is_named_by_the_index(self):
        """A page that no index names is found by nobody."""
        index = (ROOT / "docs" / "README.md").read_text() + (ROOT / "docs" / "decisions" / "README.md").read_text()
        for page in sorted((ROOT / "docs").rglob("*.md")):
            if page.name != "README.md":
                with self.subTest(page=os.path.relpath(page, ROOT)):
                    self.assertIn(f"{page.name})", index)

    def test_what_is_broken_is_found(self):
        for text in ["[a](nowhere.md)", "[a](README.md#nothing)", "# One\n[a](#two)", "![a](docs/pictures/none.png)"]:
            self.assertNotEqual(broken(text, ROOT), [], text)

    def test_what_is_whole_is_taken(self):
        for text in ["[a](README.md)", "# One, `two`\n[a](#one-two)", "[a](https://example.org/x.md)", "```\n[a](b.md)\n```", "`[a](b.md)`"]:
            self.assertEqual(broken(text, ROOT), [], text)


if __name__ == "__main__":
    unittest.main()
