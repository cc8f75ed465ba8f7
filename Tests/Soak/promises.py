"""What is promised: the command that shows it, and the same with the safety off, with the fault that this has to show."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    promise: str
    command: str
    """Of `soak`."""
    short: str | None
    """The same within seconds; None where it cannot be small."""
    figure: str
    """What in the output is the figure."""
    fault: str = ""
    """What the first FAULT of the control has to say, a regular expression. A control that ends in any other way shows nothing."""
    control: str = ""
    """Further words that switch the safety off."""
    unsafe: str = ""
    """Or the safety that UNSAFE switches off."""
    less: str = ""
    """What the control runs, where it is less than everything."""
    is_light: bool = False
    """Whether it takes so little of the machine, and asks so little of it, that it may run beside another such row."""
    program: str = "soak"
    """What the command is of."""

    @property
    def off(self):
        """The control's words after `soak`; nothing where there is none."""
        if not self.control and not self.unsafe:
            return ""
        return f"{self.less or self.command} {self.control}".strip()


ROWS = [
    Row("After every cut, books are right and every gap is reported", "kills --kills 1000 --readers 10", "kills --kills 8 --readers 10 --rate 30 --interval 30",
        r"\d+ kills \{.*|.*to all books valid: .*|\d[\d ]* books equal.*", r"silent loss between|live without a recover|a change came during an outage|is wrong at \d+: bid",
        unsafe="continuity", less="kills --kills 40 --readers 10"),
    Row("Every kind of silence is reported", "detect --trials 200", "detect --trials 8 --warm 15 --slack 2",
        r"[\w-]+, \w+(@\w+)?: p50 .*", r": not told within \d+ s", unsafe="telling", less="detect --trials 20"),
    Row("A receipt has the length of the outage and the number of missing messages", "receipts --outages 500", "receipts --outages 8 --warm 15 --faults forgotten,blackhole,frame",
        r"[\w-]+: \d+ of \d+ receipts right.*", r"downMs \d+ of an outage of", unsafe="receipts", less="receipts --outages 20 --faults blackhole,frozen"),
    Row("Streams that stall together recover together", "stalls", "stalls --seconds 15 --symbols 40", r"\d+ streams stalled.*|\d+ came back.*",
        r"sockets at a time", unsafe="one rotation"),
    Row("A healthy market raises no alarm", "quiet --minutes 10", "quiet --minutes 0.5 --busy 1", r".*false alarms.*", r"told without a reason: ",
        control="--control", less="quiet --minutes 1"),
    Row("Readers do not notice a planned change of the venue's connection", "rotation --rotations 8 --rotate-after 30", None, r"\d+ rotations, \d+ events read",
        r"rotation 1 was seen", control="--control", less="rotation --rotations 1 --rotate-after 30", is_light=True),
    Row("Readers do not notice any fault of one of two lines", "lines --faults 250 --minutes 15", "lines --faults 8 --quiet 2 --symbols 10",
        r"\d+ faults of one line .*|\d+ updates and .*|\d+ REST requests meanwhile.*", r"reader \d+: fault \d+ \(.*\) was seen", control="--control",
        less="lines --faults 20"),
    Row("With two lines, a cut of one at any byte is not visible, and the loss of both is reported once", "kills --kills 200 --lines 2 --readers 10 --rate 30 --interval 30", None,
        r"\d+ kills \{.*|.*to all books valid: .*|\d[\d ]* books equal.*", r"silent loss between|live without a recover|a change came during an outage|is wrong at \d+: bid",
        unsafe="continuity", less="kills --kills 40 --lines 2 --readers 10 --rate 30 --interval 30"),
    Row("With two lines of changing delay, readers get each message from the faster line", "jitter --lag", None, r"\d+ messages/s on .*|processor time of a message .*|a line that is always .* late: .*",
        r"p99 of readers is [\d.]+ ms more", control="--control", less="jitter --seconds 15 --rounds 0"),
    Row("A reader that returns within the window resumes exactly, and any other reader receives a reset", "resume", "resume --readers 200", r"(?:in|out)side the window: \{.*",
        r"inside the window: \d+ of \d+ readers did not go on exactly", control="--control", less="resume --readers 1000"),
    Row("After any change of a connection, an exact resume misses no event", "exact --resumes 10000 --pairs 0", "exact --resumes 300 --pairs 0", r"\d+ resumes over .*",
        r"silent loss|no full value", control="--control", less="exact --resumes 500 --pairs 0", is_light=True),
    Row("Gateways that start together have different epochs", "exact --resumes 40 --pairs 1000", None, r"\d+ pairs of .*", r"equal epochs: of \d+ pairs", unsafe="epoch",
        less="exact --resumes 40 --pairs 20", is_light=True),
    Row("After a restart, no reader continues with events of another epoch", "restarts --restarts 50", "restarts --restarts 3 --readers 50", r"\d+ restarts under.*",
        r"received the resume result \['exact'\]|an update of \S+ came before its snapshot", unsafe="epoch", less="restarts --restarts 12", is_light=True),
    Row("Stopped readers do not delay the other readers", "stopped", None, r".*p99.*|.*KiB.*|.*\d+ of \d+ stopped.*", r"p99 of the other readers increases by|KiB in the kernel",
        unsafe="send buffers", less="stopped --rounds 1 --readers 100"),
    Row("A slow reader is served, and the connection of a vanished reader is closed", "slow", None, r"a buffer of .*|a machine .*", r"reset without bye", unsafe="user timeout",
        is_light=True),
    Row("Thousands of slow clients cause no refusal of other requests", "attack --seconds 40", "attack --seconds 12 --p99 2000", r"slow (?:heads|bodies|readers): \d.*",
        r"slow heads: availability \d", control="--control", less="attack --seconds 60"),
    Row("Many readers cause no more requests to the venue than one", "storm", "storm --refetches 2000 --names 1000 --readers 500 --cuts 3", r"\d+ (?:refetches|names|readers) .*",
        r"\d+ requests to the venue for \d+ refetches", control="--control", less="storm --refetches 2000 --names 10 --readers 10 --cuts 1"),
    Row("A stream is refetched at most once a second", "storm --names 10 --readers 10 --cuts 1", None, r"\d+ refetches .*", r"\d+ requests to the venue for \d+ refetches",
        unsafe="coalescing"),
    Row("Requests for lists and probes do not delay events", "lists", None, r"\d+ streams, .*|RSS .*|.*different queries.*", r"/streams delays events|/streams: \d+ of \d+ requests", unsafe="stream tables",
        less="lists --seconds 6 --queries 100"),
    Row("Ten thousand readers receive every event", "crowd --seconds 120", None, r"\d+ readers, .*", r"\d+ missing", control="--control", less="crowd --seconds 20"),
    Row("Memory does not grow", "endure --minutes 30", None, r".*MB an hour.*", r"memory grows by", control="--control", less="endure --minutes 2 --rate 200",
        is_light=True),
    Row("256 descriptors", "limits descriptors", "limits descriptors", r"while full.*", r"not recovered: .*unreachable|no room for a new reader|did not come back while",
        unsafe="descriptors"),
    Row("256 MB of memory", "limits memory", None, r"alive.*|.*MB.*", r"the gateway died \(-9\)", unsafe="memory", less="limits memory --flood 20"),
    Row("A full disk", "limits disk", "limits disk", r"\d[\d ]* books equal.*", r"the gateway died \(-6\)|the gateway and the exchange ended with \(-6", unsafe="log errors", is_light=True),
    Row("An unread program log", "limits log", "limits log", r"\d[\d ]* books equal.*", r"the books did not come back", unsafe="log buffer", is_light=True),
    Row("Jumps of the wall clock change no age and cause no notice", "limits clock", "limits clock", r"20 jumps.*", r"wrong ages|received an outage notice", unsafe="monotonic clock", is_light=True),
    Row("Every age includes the sleep of the machine", "limits sleep", "limits sleep", r"after ten minutes of sleep.*", r"wrong ages", unsafe="sleep", is_light=True),
    Row("Wrong, expired and revoked credentials are refused, and no secret is shown", "access", "access",
        r"\d+ of \d+ bad tokens.*|a token expired.*|a key revoked.*|\d+ secrets.*", r"a token .* was answered \[200", unsafe="signature", is_light=True),
    Row("A gateway that stops sends `bye` to every reader and spreads the reconnections", "drain", "drain --readers 300", r"\d+ readers: .*", r"only 0 of \d+ readers received", control="--control"),
    Row("The checker finds every planted fault", "selftest", "selftest --times 1", r"\d+ of \d+.*|\d+/\d+ found.*", is_light=True),
]
