"""--emulate of the commands that make far memory as slow as one that is not there."""

from __future__ import annotations

import argparse

from nearfar.errors import suggestion
from nearfar.model import units
from nearfar.model.units import BANDWIDTH, TIME
from nearfar.tier.control import PAGE, Delay
from nearfar.tier.launch import NO_DELAY

_EMULATED = {"latency": TIME, "bandwidth": BANDWIDTH}
_LONGEST = TIME.units["s"]


def add_emulate(parser: argparse.ArgumentParser) -> None:
    """Declare --emulate."""
    parser.add_argument(
        "--emulate",
        metavar="latency=TIME,bandwidth=RATE",
        type=_delay,
        default=NO_DELAY,
        help="make far memory as slow as one that is not there: what moves from or to "
        "it takes so long more, such as latency=1us,bandwidth=2GB/s; either may be left out",
    )


def _delay(text: str) -> Delay:
    """An argparse type: what a page takes."""
    given: dict[str, int] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if name not in _EMULATED or not equals:
            hint = suggestion(name, _EMULATED)
            raise argparse.ArgumentTypeError(
                f"found '{part}', expected latency=TIME or bandwidth=RATE{hint}"
            )
        if name in given:
            raise argparse.ArgumentTypeError(f"found '{name}' twice, expected it once")
        try:
            given[name] = units.parse(value, _EMULATED[name])
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{name}: {error}") from None
        if given[name] <= 0:
            raise argparse.ArgumentTypeError(f"{name}: found '{value}', expected more than 0")
    transfer = -(-PAGE * TIME.units["s"] // given["bandwidth"]) if "bandwidth" in given else 0
    latency = given.get("latency", 0)
    if latency + transfer > _LONGEST:
        raise argparse.ArgumentTypeError(f"found '{text}', expected at most 1 s a page")
    return Delay(latency, transfer)
