"""The site of the documents has every page, its links lead to pages of the site, and llms.txt names them."""

import importlib.machinery
import importlib.util
import os
import pathlib
import posixpath
import re
import unittest

import test_links

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("site_build", os.fspath(ROOT / "ops" / "site" / "build"))
SPEC = importlib.util.spec_from_loader("site_build", LOADER)
site = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(site)


class SiteTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = site.pages()
        cls.pictures = {f"pictures/{file.name}" for file in (ROOT / "docs" / "pictures").iterdir()}

    def test_links_to_documents_lead_to_pages_of_the_site(self):
        for name, text in self.pages.items():
            for target in re.findall(test_links.LINK, test_links.prose(text)) if name.endswith(".md") else []:
                path = target.partition("#")[0]
                if path and not re.match(r"\w+:", path) and path.endswith((".md", ".svg", ".png", ".yaml")):
                    with self.subTest(page=name, target=target):
                        self.assertIn(posixpath.normpath(posixpath.join(posixpath.dirname(name), path)), set(self.pages) | self.pictures)

    def test_llms_txt_names_every_page(self):
        outline = site.outline(self.pages["index.md"], self.pages["documents.md"])
        self.assertRegex(outline, r"(?m)^> \w.{80}")
        for page in self.pages:
            if page.startswith(("start/", "read/", "operate/", "extend/", "reference/")):
                self.assertIn(f"({page})", outline)

    def test_the_navigation_has_the_sections_of_the_index(self):
        sections = [next(iter(entry)) for entry in site.navigation(self.pages["documents.md"])]
        self.assertEqual(sections, ["FuturesGateway", "Start", "Read", "Operate", "Extend", "Look up"])


if __name__ == "__main__":
    unittest.main()
