"""How busy the machine is with other things than the proof."""

import os


def descendants(root):
    """`root` and all processes it started, and theirs."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    family = {root}
    while True:
        more = {child for child, parent in parents.items() if parent in family} - family
        if not more:
            return family
        family |= more


def processor_time(process):
    """Seconds that a process has used."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """Processor time since the last look: the share of the machine that others used. Resolution is a hundredth of a second."""

    def __init__(self):
        self.family = descendants(os.getpid())
        self.last = self._read()

    def others(self):
        now = self._read()
        whole, busy, own = (after - before for after, before in zip(now, self.last))
        self.last = now
        return max(0.0, (busy - own) / max(1, whole))

    def _read(self):
        with open("/proc/stat") as file:
            times = [int(part) for part in file.readline().split()[1:9]]
        own = 0
        for process in self.family:
            try:
                with open(f"/proc/{process}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
                own += int(fields[11]) + int(fields[12])
            except OSError:
                pass
        return sum(times), sum(times) - times[3] - times[4], own
