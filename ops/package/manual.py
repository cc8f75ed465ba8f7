#!/usr/bin/env python3
"""The manual page and the file of settings, made of what the program says about itself, so that neither can differ from it.

    manual.py man EXECUTABLE         futures-gateway(1)
    manual.py settings EXECUTABLE    a configuration file in which every setting stands as a comment
"""
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

SETTINGS = "serve"
"""The command whose options are the settings; others take them too."""
GENERAL = {"version", "help"}


def ask(executable, *words):
    return subprocess.run([executable, *words], stdout=subprocess.PIPE, check=True, text=True).stdout


def roff(text):
    """Plain text for troff: no line of it is a request, and a hyphen stays the one that can be typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^(?=[.'])", r"\\&", text)


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def italic(text):
    return f"\\fI{roff(text)}\\fR"


def name(option):
    """An option as it is typed."""
    if option["kind"] == "positional":
        word = option["valueName"] + (" ..." if option["isRepeating"] else "")
        return f"[{italic(word)}]" if option["isOptional"] else italic(word)
    dashes = "-" if option["preferredName"]["kind"] == "short" else "--"
    word = bold(dashes + option["preferredName"]["name"])
    return word if option["kind"] == "flag" else f"{word} {italic(option['valueName'])}"


def options(command, but=frozenset()):
    return [one for one in command.get("arguments", []) if one["shouldDisplay"] and one["valueName"] not in GENERAL and key(one) not in but]


def key(option):
    return option["preferredName"]["name"] if "preferredName" in option else option["valueName"]


def commands(command, path=()):
    """Every command that does something, by its whole name."""
    below = [one for one in command.get("subcommands", []) if one["shouldDisplay"] and one["commandName"] != "help"]
    if path and not below:
        yield " ".join(path), command
    for one in below:
        yield from commands(one, (*path, one["commandName"]))


def taken(command, settings):
    """The settings, if the command takes all of them."""
    return settings if settings <= {key(one) for one in options(command)} else set()


def described(one):
    return [".TP", name(one), roff(one.get("abstract", ""))]


def manual(help, version, date):
    program = help["command"]
    title = program["commandName"]
    found = dict(commands(program))
    settings = {key(one) for one in options(found[SETTINGS])}
    lines = [f'.TH {title.upper()} 1 {date} "{title} {roff(version)}" "User Commands"', ".SH NAME",
             f"{roff(title)} \\- {roff(program['abstract'][:1].lower() + program['abstract'][1:].rstrip('.'))}", ".SH SYNOPSIS"]
    for words, command in found.items():
        takes = taken(command, settings)
        own = options(command, but=takes)
        shown = [f"[{name(one)}]" if one["kind"] != "positional" and one["isOptional"] else name(one) for one in own]
        lines += [" ".join([bold(f"{title} {words}"), *([f"[{italic('settings')}]"] if takes else []), *shown]), ".br"]
    lines[-1:] = [".SH COMMANDS"]
    for words, command in found.items():
        lines += [".SS " + roff(words), roff(command["abstract"])]
        for part in command.get("discussion", "").split("\n\n"):
            lines += [".PP", roff(part)] if part.strip() else []
        takes = taken(command, settings)
        for one in options(command, but=takes):
            lines += described(one)
    lines += [".SH SETTINGS"]
    for one in options(found[SETTINGS]):
        lines += described(one)
    lines += [".SH ENVIRONMENT", ".TP", bold("FUTURES_GATEWAY_..."), "Every setting, in capitals and with _ instead of \\-.", ".SH FILES"]
    lines += [".TP", italic("/etc/futures-gateway/config.yaml"), "The settings of the service that the Debian package installs."]
    lines += [".TP", italic("/etc/futures-gateway/environment"), "Settings of the service by their variables, for secrets."]
    lines += [".SH EXAMPLE", ".nf", f"{roff(title)} serve \\-\\-demo &", "curl http://127.0.0.1:8080/streams/btcusdt@markPrice", ".fi"]
    return "\n".join(lines) + "\n"


def configuration(help, printed):
    """Every setting as a comment with its sentence; what `serve --print-config` says is its default."""
    found = dict(commands(help["command"]))
    lines = ["# The settings of FuturesGateway. Take the # from a line to change it; `futures-gateway check-config --config FILE` says what is wrong.",
             "# Each is as well a variable of the environment, as in FUTURES_GATEWAY_PORT, and a flag, as in --port; futures-gateway(1) has them all."]
    values = dict(re.findall(r"(?m)^([a-z][\w-]*): (.*?) # ", printed))
    known = set(re.findall(r"(?m)^(?:# )?([a-z][\w-]*): ", printed))
    for one in options(found[SETTINGS]):
        if key(one) not in known or key(one) == "config":
            continue
        lines += [""] + textwrap.wrap(one["abstract"], 110, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
        lines += [f"# {key(one)}: {values.get(key(one), '')}".rstrip()]
    return "\n".join(lines) + "\n"


def main():
    what, executable = sys.argv[1:]
    help = json.loads(ask(executable, "--experimental-dump-help"))
    if what == "man":
        changed = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True).stdout.strip()
        sys.stdout.write(manual(help, ask(executable, "--version").split()[0], changed or "1970-01-01"))
    else:
        sys.stdout.write(configuration(help, ask(executable, "serve", "--print-config")))


if __name__ == "__main__":
    main()
