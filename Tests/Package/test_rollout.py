"""A rolling update: a gateway is told to stop while new connections still come, as in the seconds until a load balancer has heard of it."""

import contextlib
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from test_confinement import free_port
from test_package import BUILT

DELAY = 2


class Pod:
    def __init__(self, delay):
        self.origin = f"http://127.0.0.1:{(port := free_port())}"
        self.process = subprocess.Popen(
            [BUILT, "serve", "--demo", "--port", str(port), "--drain-delay", str(delay)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.probe("/servez")[0] != 200:
            if self.process.poll() is not None:
                raise RuntimeError(f"the gateway ended with {self.process.returncode}")
            time.sleep(0.05)

    def probe(self, path):
        """The status and the body; 0 if the connection is refused or cut."""
        try:
            with urllib.request.urlopen(self.origin + path, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Clients:
    """Asks, each time by a new connection, whichever pod `endpoints` names."""

    def __init__(self, endpoints):
        self.endpoints, self.answers, self.stopped = endpoints, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        turn = 0
        while not self.stopped.is_set():
            pods = self.endpoints()
            turn += 1
            began = time.monotonic()
            self.answers.append((began, pods[turn % len(pods)].probe("/streams/btcusdt@markPrice")[0]))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def refused(self, since=0.0, until=float("inf")):
        return sum(1 for moment, status in self.answers if status != 200 and since <= moment < until)


@unittest.skipUnless(BUILT, "the program is not built")
class RolloutTests(unittest.TestCase):
    def pod(self, delay):
        pod = Pod(delay)
        self.addCleanup(pod.end)
        return pod

    def test_a_gateway_that_stops_serves_until_the_delay_is_over(self):
        pod = self.pod(DELAY)
        with urllib.request.urlopen(pod.origin + "/events?streams=btcusdt@bookTicker", timeout=30) as reader, Clients(lambda: [pod]) as clients:
            self.assertIn(b"event: session", reader.read(200))
            told = time.monotonic()
            pod.terminate()
            while pod.probe("/servez") == (200, b"serving\n"):
                self.assertLess(time.monotonic() - told, 1)
            self.assertEqual([pod.probe(path) for path in ("/servez", "/readyz")], [(503, b"draining\n")] * 2)
            self.assertEqual(pod.probe("/healthz")[0], 200)
            while pod.process.poll() is None:
                self.assertLess(time.monotonic() - told, DELAY + 15)
                time.sleep(0.02)
            lived = time.monotonic() - told
            rest = b""
            with contextlib.suppress(OSError):
                rest = reader.read()
        self.assertEqual(pod.process.returncode, 0)
        self.assertGreaterEqual(lived, DELAY)
        self.assertGreater(sum(1 for moment, _ in clients.answers if told <= moment < told + DELAY), 10)
        self.assertEqual(clients.refused(until=told + DELAY), 0)
        self.assertIn(b"event: update", rest)
        self.assertIn(b'event: bye\ndata: {"code":"draining"', rest)

    def test_without_a_delay_connections_are_refused(self):
        """The control."""
        pod = self.pod(0)
        with Clients(lambda: [pod]) as clients:
            told = time.monotonic()
            pod.terminate()
            pod.process.wait(20)
            time.sleep(max(0, told + 1 - time.monotonic()))
        self.assertGreater(clients.refused(until=told + DELAY), 0)

    def test_a_rolling_update_refuses_nobody(self):
        pods = [self.pod(DELAY) for _ in range(2)]
        known, done = list(pods), threading.Event()

        def balance():
            # As a load balancer that probes twice a second; it takes a pod back at once.
            while not done.wait(0.5):
                known[:] = [pod for pod in pods if pod.probe("/servez")[0] == 200] or known

        balancer = threading.Thread(target=balance)
        balancer.start()
        try:
            with Clients(lambda: list(known)) as clients:
                for place in range(2):
                    old, new = pods[place], self.pod(DELAY)
                    pods.append(new)
                    while new not in known:
                        time.sleep(0.05)
                    old.terminate()
                    self.assertEqual(old.process.wait(DELAY + 15), 0)
        finally:
            done.set()
            balancer.join()
        self.assertGreater(len(clients.answers), 100)
        self.assertEqual(clients.refused(), 0)


if __name__ == "__main__":
    unittest.main()
