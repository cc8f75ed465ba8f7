#!/usr/bin/env python3
"""confine.py UNIT [WRITABLE …] -- COMMAND …: runs a command under the confinement of a systemd unit, without systemd.

Applied are the filter of system calls, MemoryDenyWriteExecute, RestrictAddressFamilies, NoNewPrivileges, LimitNOFILE and UMask, and for root also the
file system of ProtectSystem=strict, and a user without capabilities. A forbidden call kills, whatever SystemCallErrorNumber says: the program
must not need it. Needs Debian's libseccomp2, which apt depends on.
"""

import ctypes
import errno
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

GROUPS = Path(__file__).resolve().parent / "syscall-groups.txt"
KILL, ALLOW, ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
EQUAL, MASKED_EQUAL = 4, 7
NOBODY = 65534


def settings(unit):
    """The settings of the section [Service], each with its values in order."""
    found, section = {}, ""
    for line in Path(unit).read_text().splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line
        elif section == "[Service]" and "=" in line and line[0] not in "#;":
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def groups():
    """systemd's groups of system calls by their names, as systemd knows them here, or as version 252 did."""
    text = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True).stdout if shutil.which("systemd-analyze") else ""
    found, name = {}, ""
    for line in (text or GROUPS.read_text()).splitlines():
        if line.startswith("@"):
            name = line.split()[0]
            found[name] = []
        elif name and line.startswith(" ") and not line.strip().startswith("#"):
            found[name] += line.split()
    return found


def members(name, known):
    return {one for part in known[name] for one in members(part, known)} if name.startswith("@") else {name}


def allowed_calls(lines, known):
    """The system calls that `SystemCallFilter=` lines allow: the first must allow, because then all others are forbidden."""
    if not lines or lines[0].startswith("~"):
        raise ValueError("the first SystemCallFilter must be a list of what is allowed")
    # systemd adds this group to every such list.
    calls = members("@default", known)
    for line in lines:
        named = set().union(*(members(name, known) for name in line.lstrip("~").split()))
        calls = calls - named if line.startswith("~") else calls | named
    return calls


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Filter:
    """A filter of libseccomp."""

    def __init__(self, default):
        self.library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.library.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.library.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, name, *comparisons):
        number = self.library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # Not on this architecture.
            return
        array = (Comparison * len(comparisons))(*comparisons)
        result = self.library.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number, len(comparisons), array)
        if result not in (0, -errno.EACCES):  # EACCES: it is the default action.
            raise OSError(-result, f"seccomp_rule_add {name}")

    def load(self):
        result = self.library.seccomp_load(self.context)
        if result != 0:
            raise OSError(-result, "seccomp_load")


def is_available():
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        return False
    return sys.platform == "linux"


def denied(unit):
    """What the other settings forbid, each call with an error as systemd gives it."""
    found = Filter(ALLOW)
    if unit.get("MemoryDenyWriteExecute") == ["yes"]:
        for call, argument, mask in (("mmap", 2, 6), ("mprotect", 2, 4), ("pkey_mprotect", 2, 4), ("shmat", 2, 0o100000)):
            found.add(ERRNO | errno.EPERM, call, Comparison(argument, MASKED_EQUAL, mask, mask))
    families = {getattr(socket, name) for line in unit.get("RestrictAddressFamilies", []) for name in line.split()}
    for family in set(range(64)) - families if families else ():
        found.add(ERRNO | errno.EAFNOSUPPORT, "socket", Comparison(0, EQUAL, family, 0))
    return found


def can_isolate():
    """Whether a file system of its own can be arranged: root may, but not in every container."""
    return os.getuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


def isolate(unit, writable):
    """The file system as the unit shows it."""
    if ctypes.CDLL(None).unshare(0x00020000) != 0:  # CLONE_NEWNS
        raise OSError("unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in writable:
        subprocess.run(["mount", "--bind", folder, folder], check=True)
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()] if unit.get("ProtectSystem") == ["strict"] else []
    for place in reversed(places):
        if place not in writable and not re.match(r"/(proc|dev|sys)(/|$)", place):
            # Not all can be mounted again, such as those that something else covers.
            subprocess.run(["mount", "-o", "remount,bind,ro", place], stderr=subprocess.DEVNULL)


def become_nobody(writable):
    """A user without capabilities."""
    for folder in writable:
        os.chown(folder, NOBODY, NOBODY)
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def main(arguments):
    at = arguments.index("--")
    (path, *writable), command = arguments[:at], arguments[at + 1:]
    unit = settings(path)
    calls = allowed_calls(unit["SystemCallFilter"], groups())
    for line in unit.get("LimitNOFILE", []):
        # Not everybody may raise the limit.
        limit = min(int(line), resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    for line in unit.get("UMask", []):
        os.umask(int(line, 8))
    if can_isolate():
        isolate(unit, writable)
    if os.getuid() == 0:
        become_nobody(writable)
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    allowed = Filter(KILL)
    for call in calls:
        allowed.add(ALLOW, call)
    # This one first: the other one may forbid loading it.
    denied(unit).load()
    allowed.load()
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
