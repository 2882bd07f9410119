"""How memory is managed whose pages a pager inside the program moves: what the commands that start
a program or a machine on two tiers share."""

from __future__ import annotations

import argparse

from nearfar._lists import FAR_STORES
from nearfar.cli.parser import Parser
from nearfar.cli.streams import complain
from nearfar.cli.tier.emulate import add_emulate
from nearfar.cli.tier.flat import add_flat
from nearfar.results.faults import DEFAULT_POLICY, POLICIES
from nearfar.tier.control import AUTO, BEST, COPY
from nearfar.tier.flat import FlatOptions
from nearfar.tier.launch import LaunchOptions
from nearfar.tier.machine import possible_eviction
from nearfar.tier.outcome import Outcome, lost_text
from nearfar.tier.swap.outcome import SwapOutcome


def add_managing(parser: Parser, required: bool) -> None:
    """Declare where far memory is, which may be `required`, and how pages come and go."""
    parser.add_argument(
        "--far",
        metavar="FILE",
        required=required,
        help="; ".join(f"{usage}: {meaning}" for usage, _, meaning in FAR_STORES.values()),
    )
    parser.add_argument(
        "--compress",
        metavar="NAME",
        help="compress far pages wherever they lie: lz4, which is fast, or zstd, which saves more",
    )
    add_emulate(parser)
    parser.add_argument(
        "--evict",
        metavar="NAME",
        default=BEST,
        help="how pages leave: move (Linux 6.8 or newer), copy (5.7 or newer; loses what a device "
        "writes to memory meanwhile), or best, the default: move where the kernel can",
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help=f"which page leaves: {', '.join(POLICIES)}; default: {DEFAULT_POLICY}",
    )
    parser.add_argument(
        "--pager-cpu",
        metavar="WHERE",
        default=AUTO,
        help="where pages are brought in: auto, the default, finds the fastest processor; any, as "
        "the scheduler chooses; same, that of the thread which waits; same_idle, the same, by "
        "SCHED_IDLE if this user may; per_cpu, as same_idle on several, by a thread for each",
    )
    add_flat(parser)


def warn_of_copies(evict: str, command: str, *, sigbus: bool = False) -> bool:
    """Whether pages leave by being copied here; says what that loses, but where `sigbus` does."""
    copied = possible_eviction(evict, sigbus=sigbus) == COPY
    if copied and not sigbus:
        complain(
            f"{command}: pages leave by being copied: what a device writes to memory meanwhile is "
            "lost (O_DIRECT, buffers registered with io_uring)"
        )
    return copied


def launch_options(args: argparse.Namespace, flat: FlatOptions | None) -> LaunchOptions:
    """What they say; with `flat`, the policy is one of placement and stands there."""
    return LaunchOptions(
        compress=args.compress,
        evict=args.evict,
        delay=args.emulate,
        policy=(args.policy if flat is None else None) or DEFAULT_POLICY,
        pager_cpu=args.pager_cpu,
        flat=flat,
    )


def complain_of_end(outcome: Outcome | SwapOutcome, command: str, what: str) -> None:
    """Say on standard error what was not as it should be when `what` ended, or did not."""
    if outcome.runs_on:
        complain(
            f"{command}: {what} (process {outcome.runs_on}) has not ended a second after SIGTERM, "
            f"and runs on; `kill -KILL {outcome.runs_on}` ends it"
        )
    if outcome.lacked_memory:
        complain(
            f"{command}: {what} was killed while the kernel was ending processes for lack of "
            "memory, the machine's or its control group's; give a smaller --near, or far memory "
            "elsewhere"
        )
    if isinstance(outcome, Outcome) and outcome.lost_events:
        complain(f"{command}: {lost_text(outcome.lost_events)}")
