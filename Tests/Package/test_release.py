"""The files of a release: their versions, contents and commands."""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("release", str(ROOT / "ops" / "package" / "release"))
release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", LOADER))
LOADER.exec_module(release)


def members(file):
    with tarfile.open(file) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers()}


class ReleaseTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_every_file_names_the_same_version(self):
        self.assertRegex(release.version(), r"^\d+\.\d+\.\d+$")

    def test_a_file_with_another_version_is_named(self):
        for file, _ in release.VERSIONS:
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.folder / file)
        changed = self.folder / "clients" / "python" / "pyproject.toml"
        changed.write_text(changed.read_text().replace(f'version = "{release.version()}"', 'version = "9.9.9"'))
        with self.assertRaisesRegex(SystemExit, r"clients/python/pyproject\.toml has 9\.9\.9"):
            release.version(self.folder)

    def test_the_notes_are_the_versions_section(self):
        text = "# Changelog\n\n## 2.0.0\n\n### Added\n\n- New.\n\n## 1.0.0\n\n- Old.\n"
        self.assertEqual(release.notes(text, "2.0.0"), "### Added\n\n- New.\n")
        self.assertEqual(release.notes(text, "1.0.0"), "- Old.\n")
        with self.assertRaisesRegex(SystemExit, "no section about 3.0.0"):
            release.notes(text, "3.0.0")

    def test_the_npm_package_has_every_module_that_it_imports(self):
        files = members(release.npm(self.folder, "1.2.3", 0))
        description = json.loads(files["package/package.json"])
        self.assertEqual({f"package/{name}" for name in description["files"]} | {"package/package.json"}, set(files))
        self.assertIn(f"package/{description['exports']['.']['default']}".replace("./", ""), files)
        for name, content in files.items():
            for module in re.findall(r"from '\./(\S+)'", content.decode()) if name.endswith(".js") else []:
                self.assertIn(f"package/{module}", files)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_the_npm_package_can_be_imported_and_asks_for_the_gateways_address(self):
        with tarfile.open(release.npm(self.folder, "1.2.3", 0)) as tar:
            tar.extractall(self.folder / "node_modules" / "unpacked", filter="data")
        (self.folder / "node_modules" / "unpacked" / "package").rename(self.folder / "node_modules" / "futures-gateway-client")
        script = self.folder / "try.mjs"
        script.write_text("import { Feed } from 'futures-gateway-client';\ntry { new Feed(['btcusdt@markPrice']); } catch (error) { console.log(error.message); }\n")
        told = subprocess.run(["node", script], capture_output=True, text=True, timeout=30)
        self.assertIn("Set the option `url` to the address of the gateway", told.stdout, told.stderr)

    def test_the_chart_is_the_folder_and_the_same_each_time(self):
        first = release.chart(self.folder, "1.2.3", 1_700_000_000)
        content = first.read_bytes()
        self.assertIn("futures-gateway/Chart.yaml", members(first))
        self.assertIn("futures-gateway/templates/deployment.yaml", members(first))
        self.assertEqual(release.chart(self.folder, "1.2.3", 1_700_000_000).read_bytes(), content)

    def test_the_commands_are_a_script_that_names_every_file(self):
        names = ["futures-gateway_1.2.3_amd64.deb", "futures-gateway-1.2.3-linux-x86_64.tar.gz", "futures_gateway_client-1.2.3-py3-none-any.whl"]
        text = release.commands("1.2.3", [self.folder / name for name in names])
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)
        for name in names:
            self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main()
