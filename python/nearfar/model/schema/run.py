"""How placement policies of programs are run: what they learn of pages, and how often they decide."""

# ruff: noqa: E501
# fmt: off
# One line a key, however long: a key is added, changed and compared as a line.
from nearfar._lists import DETECTORS
from nearfar.model.key import choice, count, time

KEYS = (
    time("run.interval", "1 ms", "1 ns", "1000 s", "Between decisions of a policy that exchanges pages of two tiers; scans are five times as many"),
    count("run.pairs", 256, 1, 2**28, "Pairs of pages that change places in a decision, at most"),
    choice("run.detector", "accessed", DETECTORS, "What tells a placement policy which pages are used: dirty bits, accessed bits, pages that are unmapped in turn, or samples of accesses to memory"),
)
