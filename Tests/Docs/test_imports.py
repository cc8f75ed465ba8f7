"""What the libraries' targets import has to be there on Apple's platforms too."""

import json
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUARDED = {"Glibc", "Musl", "Darwin", "FoundationEssentials", "FoundationNetworking", "Observation", "SwiftUI"}
EVERYWHERE = {"Foundation", "Dispatch"}
# What may be imported elsewhere than on Apple's platforms, and what was made after the oldest of them that the package declares.
NEWER_MODULES = {"Synchronization"}
NEWER_NAMES = r"\bU?Int128\b|\bMutex\b|\bAtomic<|\(validating:|\bisolated deinit\b|\bInlineArray\b"


def package():
    return json.loads(subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def closure(targets, names):
    """The targets that these need, themselves among them, and the modules of other packages."""
    found, modules, waiting = set(), set(), list(names)
    while waiting:
        name = waiting.pop()
        if name in found or name not in targets:
            continue
        found.add(name)
        for dependency in targets[name]["dependencies"]:
            if "product" in dependency:
                modules.add(dependency["product"][0])
            else:
                waiting.append(next(iter(dependency.values()))[0])
    return found, modules


def imports(text):
    """Each module that a file imports, with the module that its `#if canImport` names, or None outside of one."""
    guard = None
    for line in text.splitlines():
        if condition := re.match(r"#(?:if|elseif) canImport\((\w+)\)", line):
            guard = condition[1]
        elif line.startswith("#else") and guard:
            guard = f"not {guard}"
        elif line.startswith("#endif"):
            guard = None
        elif imported := re.match(r"(?:@\w+ )*(?:public |package )?import (?:\w+ )?(\w+)", line.strip()):
            yield imported[1], guard


def outside_of_guards(text):
    """A file's code that is built on every platform, without comments."""
    shared = re.sub(r"^#if (?:!)?canImport\(Darwin\)\n.*?^#endif\n|^ *#if canImport\(Darwin\)\n.*?^ *#endif\n", "", text, flags=re.M | re.S)
    return re.sub(r"//[^\n]*\n?", "", shared)


class ImportTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        described = package()
        cls.targets = {target["name"]: target for target in described["targets"]}
        cls.libraries = [name for product in described["products"] if "library" in product["type"] for name in product["targets"]]
        cls.needed, cls.modules = closure(cls.targets, cls.libraries)

    def test_a_guard_is_seen(self):
        text = "import Glibc\n#if canImport(Glibc)\npackage import Glibc\n#endif\n@_exported public import A\n"
        self.assertEqual(list(imports(text)), [("Glibc", None), ("Glibc", "Glibc"), ("A", None)])
        text = "#if canImport(Darwin)\nimport os\n#else\nimport B\n#endif\n"
        self.assertEqual(list(imports(text)), [("os", "Darwin"), ("B", "not Darwin")])
        self.assertEqual(outside_of_guards(text + "Int128 // Int128\n"), "Int128 ")

    def test_the_libraries_import_nothing_that_apples_platforms_lack(self):
        for name in sorted(self.needed):
            for file in (ROOT / "Sources" / name).rglob("*.swift"):
                for module, guard in imports(file.read_text()):
                    with self.subTest(file=str(file.relative_to(ROOT)), module=module):
                        self.assertTrue(
                            module in self.needed | self.modules | EVERYWHERE or module in GUARDED and guard == module or (module, guard) == ("os", "Darwin")
                            or module in NEWER_MODULES and guard == "not Darwin")

    def test_the_libraries_name_nothing_that_is_newer_than_their_platforms(self):
        for name in sorted(self.needed):
            for file in (ROOT / "Sources" / name).rglob("*.swift"):
                with self.subTest(file=str(file.relative_to(ROOT))):
                    self.assertEqual(re.findall(NEWER_NAMES, outside_of_guards(file.read_text())), [])

    def test_the_libraries_need_no_library_of_the_system(self):
        self.assertEqual([name for name in self.needed if self.targets[name]["type"] == "system"], [])

    def test_elsewhere_than_on_linux_the_package_keeps_what_the_libraries_need(self):
        listed = re.search(r"let libraries = \[(.*?)\]", (ROOT / "Package.swift").read_text(), re.S)[1]
        self.assertEqual(set(re.findall(r'"([^"]+)"', listed)), self.needed)

    def test_what_is_said_to_need_no_package_needs_none(self):
        self.assertEqual(closure(self.targets, ["FuturesGatewayClient"])[1], set())


if __name__ == "__main__":
    unittest.main()
