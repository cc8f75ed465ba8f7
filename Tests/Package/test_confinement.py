"""The unit of ops/systemd: the program under its confinement, without systemd."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import confine
from test_package import BUILT

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "ops" / "systemd" / "futures-gateway.service"
PYTHON = shutil.which("python3", path="/usr/bin:/bin")
RUNS = BUILT and confine.is_available()
OLD = "SystemCallFilter=@system-service\nSystemCallFilter=~@privileged @resources\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Service:
    """`serve --demo` under the unit, on a free port."""

    def __init__(self, folder, *options, unit=UNIT, scheme="http", writable=()):
        self.port = free_port()
        self.origin = f"{scheme}://127.0.0.1:{self.port}"
        self.log = open(pathlib.Path(folder, "log"), "w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-B", confine.__file__, unit, *writable, "--", BUILT, "serve", "--demo", "--port", str(self.port), *options],
            stdout=self.log, stderr=self.log)

    def price(self, context=None):
        """A live price, within a minute; None if the program ends before."""
        until = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), urllib.request.urlopen(self.origin + "/streams/btcusdt@markPrice", timeout=5, context=context) as answer:
                body = json.load(answer)
                if body["state"] == "live":
                    return body["content"]["markPrice"]
            time.sleep(0.1)
        return None

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()


def systemd_unit(folder, text):
    path = pathlib.Path(folder, "changed.service")
    path.write_text(text)
    return path


@unittest.skipUnless(RUNS, "the program is not built, or libseccomp2 is not installed")
class ConfinementTests(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        os.chmod(self.folder, 0o755)

    def serves(self, *options, **more):
        context = more.pop("context", None)
        with Service(self.folder, *options, **more) as service:
            price = service.price(context)
            status = service.end()
            self.assertIsNotNone(price, f"status {status}\n{service.text()}")
            self.assertEqual(status, 0, service.text())

    def test_it_serves_a_price_and_ends_in_order(self):
        self.serves()

    def test_it_serves_by_several_threads(self):
        self.serves("--fan-out-threads", "4")

    def test_it_serves_over_tls(self):
        chain, key = (pathlib.Path(self.folder, name) for name in ("chain.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", chain], check=True, capture_output=True)
        key.chmod(0o644)
        self.serves("--tls-certificate", str(chain), "--tls-key", str(key), scheme="https", context=ssl.create_default_context(cafile=chain))

    def test_it_records_in_a_folder_of_its_own(self):
        tape = pathlib.Path(self.folder, "tape")
        tape.mkdir()
        self.serves("--tape-directory", str(tape), writable=[str(tape)])
        self.assertTrue(any(file.stat().st_size > 0 for file in tape.rglob("*") if file.is_file()))

    @unittest.skipUnless(confine.can_isolate(), "no file system of its own can be arranged here")
    def test_it_can_write_nowhere_else(self):
        tape = pathlib.Path(self.folder, "tape")
        tape.mkdir(mode=0o777)
        tape.chmod(0o777)
        with Service(self.folder, "--tape-directory", str(tape)) as service:
            self.assertIsNotNone(service.price(), service.text())
            service.end()
            self.assertIn("nothing is recorded", service.text())
        self.assertEqual(list(tape.iterdir()), [])

    def test_the_unit_of_before_killed_it(self):
        """The control: what this file found in the unit is found."""
        text = UNIT.read_text()
        lines = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("SystemCallFilter="))
        with Service(self.folder, unit=systemd_unit(self.folder, lines.replace("[Install]", OLD + "\n[Install]"))) as service:
            self.assertIsNone(service.price())
            self.assertEqual(service.end(), -signal.SIGSYS)

    @unittest.skipUnless(PYTHON, "there is no Python that everybody may run")
    def test_other_confinement_is_applied(self):
        """The control of the other lines: what they forbid fails under them."""
        probe = ("import ctypes, mmap, resource, socket, sys\n"
                 "def fails(call):\n    try: call()\n    except OSError: return True\n    return False\n"
                 "print(fails(lambda: mmap.mmap(-1, 4096, prot=7)), fails(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),"
                 " resource.getrlimit(resource.RLIMIT_NOFILE))\n")
        done = subprocess.run([sys.executable, "-B", confine.__file__, UNIT, "--", PYTHON, "-S", "-c", probe], capture_output=True, text=True)
        limit = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        self.assertEqual(done.stdout, f"True True ({limit}, {limit})\n", done.stderr)


class UnitTests(unittest.TestCase):
    def test_wrong_settings_do_not_start_it_again(self):
        self.assertEqual(confine.settings(UNIT)["RestartPreventExitStatus"], ["64 78"])

    def test_a_group_that_is_taken_away_is_gone(self):
        known = {"@default": ["exit"], "@a": ["read", "@b"], "@b": ["write", "nice"]}
        self.assertEqual(confine.allowed_calls(["@a", "~@b"], known), {"exit", "read"})
        self.assertEqual(confine.allowed_calls(["@a", "~nice"], known), {"exit", "read", "write"})
        with self.assertRaises(ValueError):
            confine.allowed_calls(["~@b"], known)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not installed")
    def test_systemd_finds_nothing_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "futures-gateway")
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            unit = pathlib.Path(folder, "futures-gateway.service")
            unit.write_text(UNIT.read_text().replace("/usr/local/bin/futures-gateway", str(program)))
            shutil.copy(UNIT.with_suffix(".socket"), folder)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit], capture_output=True, text=True)
        self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "futures-gateway" in line]), (0, []))


if __name__ == "__main__":
    unittest.main()
