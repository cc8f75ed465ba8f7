"""The manual page, the file of settings and the bill of materials, made of what the program says."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ops" / "package"))

import manual
import sbom

BUILT = next((file for kind in ("debug", "release") if (file := ROOT / ".build" / kind / "futures-gateway").exists()), None)


def option(name, kind="option", **more):
    return {"abstract": f"What {name} does.", "kind": kind, "valueName": name, "shouldDisplay": True, "isOptional": True, "isRepeating": False,
            "preferredName": {"kind": "long", "name": name}} | more


SETTINGS = [option("config"), option("port"), option("log-level")]
HELP = {"command": {"commandName": "p", "abstract": "Does it.", "subcommands": [
    {"commandName": "serve", "abstract": "Serves.", "arguments": SETTINGS, "shouldDisplay": True},
    {"commandName": "health", "abstract": "Asks.", "arguments": [*SETTINGS, option("ready", "flag")], "shouldDisplay": True},
    {"commandName": "hidden", "abstract": "Hides.", "arguments": [], "shouldDisplay": False}]}}


class ManualTests(unittest.TestCase):
    def test_settings_stand_once_and_what_is_hidden_does_not(self):
        page = manual.manual(HELP, "1.2.3", "2026-01-02")
        self.assertEqual(page.count("\\-\\-log\\-level"), 1)
        self.assertIn("\\fBp health\\fR [\\fIsettings\\fR] [\\fB\\-\\-ready\\fR]", page)
        self.assertNotIn("hidden", page)

    def test_no_text_is_a_request_of_troff(self):
        self.assertEqual(manual.roff(".config\n'a-b\\"), "\\&.config\n\\&'a\\-b\\e")

    def test_the_file_of_settings_has_only_comments(self):
        text = manual.configuration(HELP, "# config: not set\nport: 8080 # default\n# log-level: not set\n")
        self.assertIn("# What port does.\n# port: 8080\n", text)
        self.assertTrue(all(not line or line.startswith("#") for line in text.splitlines()))

    @unittest.skipUnless(BUILT, "the program is not built")
    def test_the_page_has_every_command_and_setting_of_the_program(self):
        help = json.loads(manual.ask(BUILT, "--experimental-dump-help"))
        page = manual.manual(help, "1", "2026-01-02").replace("\\-", "-")
        for name, command in manual.commands(help["command"]):
            self.assertIn(f"\n.SS {name}\n", page)
            for one in manual.options(command):
                self.assertIn(manual.name(one).replace("\\-", "-"), page)

    @unittest.skipUnless(BUILT, "the program is not built")
    def test_the_program_takes_the_file_of_settings_with_every_default_set(self):
        help = json.loads(manual.ask(BUILT, "--experimental-dump-help"))
        text = manual.configuration(help, manual.ask(BUILT, "serve", "--print-config"))
        names = {manual.key(one) for one in manual.options(dict(manual.commands(help["command"]))["serve"])} - {"config", "print-config"}
        self.assertEqual(names - set(re.findall(r"(?m)^# ([a-z-]+):", text)), set())
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("\n".join(line[2:] if re.match(rf"# ({'|'.join(names)}): ", line) else line for line in text.splitlines()))
            file.flush()
            done = subprocess.run([BUILT, "check-config", "--config", file.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "OK\n"))


class BillTests(unittest.TestCase):
    def test_a_package_stands_once_with_its_licence(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "LICENSE.txt").write_text("Apache License\nVersion 2.0")
            log = {"identity": "log", "name": "log", "url": "https://example.org/a/log.git", "version": "1.0.0", "path": folder, "dependencies": []}
            tree = {"dependencies": [log | {"identity": "b", "name": "b", "dependencies": [log]}, log]}
            found = sbom.swift_packages(tree, {})
            self.assertEqual(sorted(found), ["b", "log"])
            component = sbom.swift_component(found["log"])
        self.assertEqual(component["purl"], "pkg:swift/example.org/a/log@1.0.0")
        self.assertEqual(component["licenses"], [{"license": {"id": "Apache-2.0"}}])

    @unittest.skipUnless(BUILT and sbom.ask("sh", "-c", "command -v dpkg-query"), "the program is not built, or this is no Debian")
    def test_the_libraries_that_the_program_loads_stand_by_their_packages(self):
        names = {one["name"] for one in sbom.bill(BUILT, {"dependencies": []})["components"]}
        self.assertLessEqual({"libc6", "libmicrohttpd12", "libzstd1", "zlib1g"}, names)


class ImageTests(unittest.TestCase):
    def test_the_label_of_the_image_has_the_version_of_the_program(self):
        version = re.search(r'version = "(.*)"', (ROOT / "Sources" / "FuturesGateway" / "GatewayService.swift").read_text())[1]
        self.assertIn(f"\nARG VERSION={version}\n", (ROOT / "Dockerfile").read_text())


if __name__ == "__main__":
    unittest.main()
