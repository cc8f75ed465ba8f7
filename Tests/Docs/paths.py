"""What the documents name: files, folders and functions, each of which has to be there."""

import functools
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs"]
FOREIGN = {"EventSource", "MHD", "Synchronization"}
"""Names with members that are not ours."""
IGNORED = (ROOT / ".gitignore").read_text().split()
"""What a tree has only after a build: a document may name it, and it counts as no file."""
CODE = ("swift", "py", "js", "mjs", "h")
MODIFIERS = r"(?:(?:public|package|private|fileprivate|internal|open|static|final|mutating|nonisolated|override|weak|lazy|indirect|@\w+)(?:\([^)]*\))?\s+)*"
SWIFT = rf"^\s*{MODIFIERS}(?:func|var|let|class|struct|enum|protocol|actor|typealias)\s+`?{{0}}\b|^\s*(?:indirect )?case [^.:]*(?<![.\w(]){{0}}\b"
INITIALIZER = rf"^\s*{MODIFIERS}init[?]?[(<]"
PLAIN = r"\b(?:def|class|function|const|let|async)\s+#?{0}\b|^static [\w *]*?\b{0}\b|^\s+(?:async )?#?{0}\("
"""A declaration in Python, JavaScript or C."""


def documents():
    return [file for name in DOCUMENTS for file in (sorted((ROOT / name).rglob("*.md")) if (ROOT / name).is_dir() else [ROOT / name])]


@functools.cache
def files():
    """The files of the tree by their paths in it, but for what is built."""
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(name for name in below if not name.startswith(".") or name == ".ci")
        found += [(pathlib.Path(folder) / name).relative_to(ROOT).as_posix() for name in sorted(names) if name not in IGNORED]
    return found


@functools.cache
def folders():
    return {parent.as_posix() for path in files() for parent in pathlib.PurePosixPath(path).parents}


@functools.cache
def text(path):
    return (ROOT / path).read_text(errors="replace")


def ending(reference, paths):
    """The paths that are the reference, or end with it."""
    return [path for path in paths if path == reference or path.endswith("/" + reference)]


def declares(path, name):
    """Whether a file of code has something of that name. A call is no declaration, nor is what a `guard` binds."""
    pattern = PLAIN if not path.endswith(".swift") else INITIALIZER if name == "init" else SWIFT
    return re.search(pattern.replace("{0}", re.escape(name)), text(path), re.M) is not None


def lacking(found, names, reference):
    return [f"{reference}: no {name} in {' or '.join(found)}" for name in names if not any(declares(path, name) for path in found)]


def in_file(reference, names=()):
    """`Folder/File.swift`, or `File.swift: one, two`."""
    found = ending(reference, files())
    return lacking(found, names, reference) if found else [f"{reference}: there is no such file"]


def in_type(name, members):
    """`File.function`, also where one of the files `File+Part.swift` has it; `Type.member` of a type that has no file of its own."""
    part = "" if "+" in name else r"(?:\+\w+)?"
    found = [path for path in files() if re.search(rf"(?:^|/){re.escape(name)}{part}\.swift$", path)]
    found = found or [path for path in files() if path.endswith(".swift") and declares(path, name)]
    if not found:
        return [] if name in FOREIGN else [f"{name}: there is no such file or type"]
    return lacking(found, members, f"{name}.{'.'.join(members)}")


def at_path(reference):
    """A path from the root of the tree, or the end of one."""
    path = reference.rstrip("/")
    return [] if ending(path, files()) or ending(path, folders()) else [f"{reference}: there is no such file or folder"]


def in_span(span):
    """What stands between two backticks."""
    if span in IGNORED:
        return []
    roots = {path.split("/")[0] for path in files()}
    if match := re.fullmatch(rf"([\w+./-]+): ([\w]+(?:, \w+)*)", span):
        return in_file(match[1], match[2].split(", ")) if match[1].split(".")[-1] in CODE else []
    if match := re.fullmatch(r"([A-Z]\w*(?:\+\w+)?)((?:\.\w+)+)(?:\(.*\))?", span):
        return [] if ending(span, files()) or span.endswith(CODE) else in_type(match[1], match[2][1:].split("."))
    if re.fullmatch(r"[\w.+-]+(?:/[\w.+-]+)+/?", span) and (span.split("/")[0] in roots or span.endswith(tuple("." + end for end in CODE))):
        return at_path(span)
    if re.fullmatch(r"[A-Z][\w+-]*(?:/[\w+-]+)*/", span):
        return at_path(span)
    return []


def mistakes(words):
    """What a document names that is not there."""
    found = [mistake for name in re.findall(r"[\w+./-]+\.swift\b", words) for mistake in in_file(name.removeprefix("./"))]
    for span in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"^```.*?^```", "", words, flags=re.M | re.S)):
        found += in_span(span)
    return list(dict.fromkeys(found))
