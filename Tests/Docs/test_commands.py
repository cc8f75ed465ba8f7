"""The curl commands of the documents are answered by a gateway that serves the demo."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = next((file for kind in ("debug", "release") if (file := ROOT / ".build" / kind / "futures-gateway").exists()), None)
OTHER_GATEWAY = {"tape.md", "replay.md", "install.md"}
"""Pages whose gateway is another one: with a tape, or at another port."""
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in OTHER_GATEWAY)]
RECIPES = ROOT / "docs" / "start" / "recipes.md"
OTHER = r"\$(?:KEY|TICKET)|--header @|-H .?Authorization|/dev/"
"""What needs keys, which the demo has none of."""


def commands(text):
    """The lines of shell blocks that ask a gateway by curl."""
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", text)
    return [line for block in blocks for line in block.splitlines() if line.startswith("curl ") and not re.search(OTHER, line) and not line.endswith("\\")]


@unittest.skipUnless(BUILT, "the program is not built")
class CommandTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gateway = subprocess.Popen([BUILT, "serve", "--demo", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.url = re.search(r"http://\S+", cls.gateway.stdout.readline())[0]
        threading.Thread(target=cls.gateway.stdout.read, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.kill()
        cls.gateway.wait()
        cls.gateway.stdout.close()

    def run_line(self, line):
        """Returns the status, output and errors of a command, which is stopped after two seconds; after fifteen if it has printed nothing by then."""
        for seconds in (2, 15):
            status, out, wrong = self.run_for(seconds, line)
            if out or status != 28:
                break
        return status, out, wrong

    def run_for(self, seconds, line):
        with urllib.request.urlopen(f"{self.url}/events?streams=btcusdt@markPrice") as reader:
            client = json.loads(next(text for text in reader if text.startswith(b"data:"))[5:])["client"]
            line = line.replace("http://127.0.0.1:8080", self.url).replace("curl ", f"curl --fail --silent --show-error --max-time {seconds} ", 1)
            shell = subprocess.Popen(["bash", "-c", line], env=os.environ | {"GATEWAY": self.url, "CLIENT": client}, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, start_new_session=True)
            try:
                out, wrong = shell.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGKILL)
                raise
        return shell.returncode, out, wrong

    def test_every_curl_command_is_answered(self):
        ran = 0
        for page in PAGES:
            for line in commands(page.read_text()):
                with self.subTest(page=page.name, line=line):
                    status, out, wrong = self.run_line(line)
                    ran += 1
                    self.assertIn(status, (0, 28), wrong)
                    self.assertTrue(out or "DELETE" in line or "| jq" in line, "it prints nothing")
        self.assertGreater(ran, 20)

    def test_the_recipe_in_python_prints_prices(self):
        program = re.search(r"(?s)```python\n(.*?)```", RECIPES.read_text())[1].replace("http://127.0.0.1:8080", self.url)
        running = subprocess.Popen([sys.executable, "-u", "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT / "clients" / "python")}, stdout=subprocess.PIPE, text=True)
        try:
            lines = [running.stdout.readline().split() for _ in range(3)]
        finally:
            running.kill()
            running.wait()
            running.stdout.close()
        for bid, ask, state in lines:
            self.assertLess(float(bid), float(ask))
            self.assertIn(state, ("connecting", "live"))

    @unittest.skipUnless(shutil.which("node"), "Node.js is not installed")
    def test_the_recipe_in_javascript_prints_the_spread_of_funding(self):
        program = re.search(r"(?s)```js\n(.*?)```", RECIPES.read_text())[1].replace("http://127.0.0.1:8080", self.url)
        done = subprocess.run(["node", "--input-type=module", "--eval", program], capture_output=True, text=True, timeout=30)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["demo", "binance", "hyperliquid", "spread"], done.stderr)
        rates = [float(line.split()[1]) for line in lines[:3]]
        self.assertAlmostEqual(float(lines[3].split()[1]), (max(rates) - min(rates)) * 100, places=5)

    def test_the_recipe_for_freqtrade_has_the_addresses_of_the_page_for_bots(self):
        recipe = json.loads(re.search(r"(?s)```json\n(.*?)```", RECIPES.read_text())[1])
        bots = json.loads("{" + re.search(r"(?s)```json\n(.*?)```", (ROOT / "docs" / "read" / "bots.md").read_text())[1] + "}")
        self.assertEqual(recipe["exchange"]["ccxt_config"], bots["ccxt_config"])
        for name, path in {"fapiPublic": "/exchangeInfo", "public": "/exchangeInfo", "dapiPublic": "/exchangeInfo"}.items():
            address = recipe["exchange"]["ccxt_config"]["urls"]["api"][name].replace("http://127.0.0.1:8080", self.url)
            with urllib.request.urlopen(address + path) as answer:
                self.assertIn("symbols", json.load(answer))

    def test_the_recipe_for_grafana_names_metrics_that_exist(self):
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:
            metrics = answer.read().decode()
        for name in re.findall(r"futures_gateway_\w+", RECIPES.read_text()):
            self.assertIn(name.removesuffix("_bucket"), metrics)

    def test_a_command_that_the_gateway_refuses_is_found(self):
        self.assertNotIn(self.run_line("curl 'http://127.0.0.1:8080/streams/btcusdt@nothing'")[0], (0, 28))


class ExampleTests(unittest.TestCase):
    def test_the_recipe_in_swift_is_the_example(self):
        self.assertEqual(re.search(r"(?s)```swift\n(.*?)```", RECIPES.read_text())[1], (ROOT / "Examples" / "funding-spread" / "main.swift").read_text())

    def test_the_recipes_for_funding_are_short(self):
        for language in ("js", "swift"):
            program = re.search(rf"(?s)```{language}\n(.*?)```", RECIPES.read_text())[1]
            self.assertLessEqual(program.count("\n"), 15, language)


if __name__ == "__main__":
    unittest.main()
