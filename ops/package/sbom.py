#!/usr/bin/env python3
"""What an executable is made of, as CycloneDX 1.6: the Swift packages that are linked in, and the Debian packages whose libraries it loads or holds.

    swift package show-dependencies --format json | sbom.py EXECUTABLE [LIBRARY.a …]
"""
import hashlib
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

LICENSES = [("Apache License", "Apache-2.0"), ("Permission is hereby granted, free of charge", "MIT"), ("Mozilla Public License", "MPL-2.0")]


def ask(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def swift_packages(package, found):
    for one in package["dependencies"]:
        found[one["identity"]] = one
        swift_packages(one, found)
    return found


def license_of(folder):
    """By the words of its LICENSE; nothing if they are not known."""
    text = "".join(file.read_text(errors="replace")[:4000] for file in sorted(Path(folder).glob("LICENSE*"))[:1])
    return next(([{"license": {"id": name}}] for words, name in LICENSES if words in text), [])


def swift_component(one):
    place = re.sub(r"^https?://|\.git$", "", one["url"])
    address = f"pkg:swift/{place}@{one['version']}"
    return {"type": "library", "bom-ref": address, "name": one["name"], "version": one["version"], "purl": address, "licenses": license_of(one["path"])}


def debian_package(file):
    """The package that a file belongs to. /lib is a link to /usr/lib, and dpkg knows one of the two names."""
    real = str(Path(file).resolve())
    for path in dict.fromkeys([file, real, real.removeprefix("/usr")]):
        if match := re.match(r"([^:,\s]+)", ask("dpkg-query", "--search", path)):
            return match[1]
    return None


def debian_component(name):
    version, architecture = ask("dpkg-query", "--show", "--showformat", "${Version} ${Architecture}\n", name).splitlines()[0].split()
    address = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}


def bill(executable, package, archives=()):
    content = Path(executable).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    version = ask(executable, "--version").split()[0]
    swift = re.search(r"Swift version (\S+)", ask("swift", "--version"))
    loaded = re.findall(r"=> (/\S+)|^\s+(/\S+) \(", ask("ldd", executable), re.M)
    files = [one or other for one, other in loaded]
    names = sorted({name for name in map(debian_package, [*files, *archives]) if name})
    runtime = {"type": "framework", "bom-ref": "swift", "name": "Swift runtime and Foundation", "version": swift[1] if swift else "unknown",
               "licenses": [{"license": {"id": "Apache-2.0"}}]}
    parts = [swift_component(one) for _, one in sorted(swift_packages(package, {}).items())] + [runtime] + [debian_component(name) for name in names]
    own = {"type": "application", "bom-ref": "futures-gateway", "name": "futures-gateway", "version": version,
           "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}]}
    # The number follows from the executable, so that the same executable has the same bill.
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}", "version": 1,
            "metadata": {"component": own}, "components": parts,
            "dependencies": [{"ref": "futures-gateway", "dependsOn": [one["bom-ref"] for one in parts]}]}


if __name__ == "__main__":
    words = sys.stdin.read()
    print(json.dumps(bill(sys.argv[1], json.loads(words[words.index("{"):]), sys.argv[2:]), indent=1))
