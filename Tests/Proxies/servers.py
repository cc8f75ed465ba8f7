"""The gateway, nginx, Caddy and HAProxy as programs on loopback, the proxies with the very files of ops/."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "gateway.example"
NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
CADDY = shutil.which("caddy")
HAPROXY = shutil.which("haproxy") or shutil.which("/usr/sbin/haproxy")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def await_port(port, process):
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{process.args[0]} does not listen")


def certificate(folder):
    """A certificate for the name, which is its own authority."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={NAME}",
         "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", folder / "key.pem", "-out", folder / "chain.pem"], check=True, capture_output=True)
    # The workers of an nginx that root started read it as somebody else.
    (folder / "key.pem").chmod(0o644)


class Gateway:
    def __init__(self, executable, log=os.devnull):
        self.executable, self.port, self.process, self.log = executable, free_port(), None, Path(log)

    def start(self, *options):
        command = [self.executable, "serve", "--demo", "--port", str(self.port), "--allowed-hosts", NAME, "--open-metrics", *options]
        # The port of an ended program may be held for a moment by its last connections.
        for _ in range(50):
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
            if "http://" in self.process.stdout.readline():
                return self
            self.process.wait()
            time.sleep(0.1)
        raise RuntimeError("the gateway does not start")

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.end()

    def page(self, path):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10)

    def metric(self, pattern):
        with self.page("/metrics") as answer:
            return sum(int(n) for n in re.findall(rf"^futures_gateway_{pattern} (\d+)$", answer.read().decode(), re.MULTILINE))

    def readers(self):
        return self.metric(r"event_readers\{.*\}")


class Proxy:
    """A proxy with its file of ops/, in which addresses, ports and paths are put in the place of the real ones, and with `change` made to it."""

    scheme = "https"

    def __init__(self, folder, gateway, change=("", "")):
        self.folder, self.gateway, self.port = folder / f"{type(self).__name__}-{free_port()}", gateway, free_port()
        self.folder.mkdir()
        for name in ("chain.pem", "key.pem"):
            shutil.copy(folder / name, self.folder)
        self.configure(change)
        self.log = open(self.folder / "output", "wb")
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, env=os.environ | {"HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)})
        try:
            await_port(self.port, self.process)
        except RuntimeError:
            self.end()
            raise RuntimeError(self.logs()) from None

    def adapted(self, file, change, *places):
        text = (ROOT / "ops" / file).read_text()
        for old, new in (("127.0.0.1:8080", f"127.0.0.1:{self.gateway.port}"), *places, change):
            if old not in text:
                raise RuntimeError(f"{file} does not hold {old!r}")
            text = text.replace(old, new)
        return text

    def wait_until_up(self, route):
        """Until the proxy knows that the gateway is there."""
        for _ in range(100):
            if route.ask("/healthz")[0] == 200:
                return
            time.sleep(0.05)
        raise RuntimeError(f"{type(self).__name__} does not reach the gateway")

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def logs(self):
        return "".join(path.read_text(errors="replace") for path in self.folder.rglob("*") if path.is_file() and (path.name == "output" or path.suffix == ".log"))


class Nginx(Proxy):
    keeps_at_reload = waits = False
    buffering = ("proxy_buffering off;", "proxy_ignore_headers X-Accel-Buffering;")
    hasty = ("proxy_read_timeout 90s;", "proxy_read_timeout 30s;")
    deaf = ("proxy_ignore_client_abort off;", "proxy_ignore_client_abort on;")

    def configure(self, change):
        (self.folder / "gateway.conf").write_text(self.adapted(
            "nginx/gateway.conf", change, ("listen [::]:80;", ""), ("listen [::]:443 ssl http2;", ""), ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
            ("listen 443 ", f"listen 127.0.0.1:{self.port} "), ("/etc/ssl/gateway", str(self.folder)), ("/var/log/nginx", str(self.folder))))
        temporary = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        # Debian's own file compresses, too.
        (self.folder / "nginx.conf").write_text(
            f"daemon off; pid {self.folder}/pid; worker_processes 2; worker_shutdown_timeout 3s; error_log {self.folder}/main.log;"
            f"events {{ worker_connections 4096; }} http {{ {temporary} gzip on; include {self.folder}/gateway.conf; }}")
        self.command = [NGINX, "-e", str(self.folder / "start.log"), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]

    def reload(self):
        self.process.send_signal(signal.SIGHUP)


class Caddy(Proxy):
    keeps_at_reload = waits = True
    buffering = ("lb_try_duration 5s", "lb_try_duration 5s\n\t\tbuffer_responses")
    hasty = ("read_timeout 90s", "read_timeout 30s")
    deaf = ("lb_try_duration 5s", "lb_try_duration 5s\n\t\tflush_interval -1")

    def configure(self, change):
        self.admin = f"127.0.0.1:{free_port()}"
        ports = f"{{\n\tadmin {self.admin}\n\tdefault_bind 127.0.0.1\n\thttp_port {free_port()}\n\thttps_port {self.port}\n\tgrace_period 3s"
        (self.folder / "Caddyfile").write_text(self.adapted(
            "caddy/Caddyfile", change, ("{\n\t# How long a stop waits for readers. A reload leaves them where they are.\n\tgrace_period 30s", ports),
            (f"{NAME} {{", f"{NAME}:{self.port} {{\n\ttls {self.folder}/chain.pem {self.folder}/key.pem")))
        self.command = [CADDY, "run", "--adapter", "caddyfile", "--config", str(self.folder / "Caddyfile")]

    def reload(self):
        subprocess.run([CADDY, "reload", "--force", "--address", self.admin, "--adapter", "caddyfile", "--config", self.folder / "Caddyfile"], check=True, capture_output=True, env=os.environ | {"HOME": str(self.folder)})


class HAProxy(Proxy):
    """One edge, and no TLS, because the recipe is for the inside of a cluster."""

    scheme = "http"

    def configure(self, change):
        text = self.adapted("haproxy/haproxy.cfg", change, ("    server edge-2 127.0.0.1:8082\n", ""), ("    server edge-3 127.0.0.1:8083\n", ""))
        # Not everybody may open so many files.
        text = text.replace("maxconn 60000", "maxconn 2000").replace(f"bind 127.0.0.1:{self.gateway.port}", f"bind 127.0.0.1:{self.port}").replace("127.0.0.1:8081", f"127.0.0.1:{self.gateway.port}")
        (self.folder / "haproxy.cfg").write_text(text)
        self.command = [HAPROXY, "-db", "-f", str(self.folder / "haproxy.cfg")]
