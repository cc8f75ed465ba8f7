"""The code of the articles is what a Swift test compiles and runs."""

import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ARTICLES = ROOT / "Sources" / "FuturesFeed" / "FuturesFeed.docc"
TESTS = ROOT / "Tests" / "FuturesFeedTests" / "Service" / "ArticleTests.swift"


def stands_in(block, text):
    """Whether the block's lines stand in the text one after the other, all of them further to the right by the same."""
    block, lines = textwrap.dedent(block).splitlines(), text.splitlines()
    return any(textwrap.dedent("\n".join(lines[at : at + len(block)])).splitlines() == block for at in range(len(lines)))


class ArticleTests(unittest.TestCase):
    def test_a_block_is_found_only_as_a_whole(self):
        self.assertTrue(stands_in("a\n  b\n", "x\n    a\n      b\ny"))
        self.assertFalse(stands_in("a\n  b\n", "a\nb"))

    def test_each_block_of_code_is_tested(self):
        text, blocks = TESTS.read_text(), 0
        for article in ARTICLES.glob("*.md"):
            for block in re.findall(r"^```swift\n(.*?)^```", article.read_text(), re.M | re.S):
                blocks += 1
                with self.subTest(article=article.name, block=block):
                    self.assertTrue(stands_in(block, text))
        self.assertGreater(blocks, 5)

    def test_the_manuals_example_is_compiled_against_the_client_too(self):
        block = re.search(r"^```swift\n(.*?)^```", (ARTICLES / "FromTheManual.md").read_text(), re.M | re.S)[1]
        self.assertTrue(stands_in(block, (ROOT / "Tests" / "FuturesGatewayClientTests" / "ManualExampleTests.swift").read_text()))


if __name__ == "__main__":
    unittest.main()
