"""Two tiers that a program addresses directly: what can be asked for on this machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from nearfar.errors import InputError, NearfarError, check_one_of
from nearfar.tier.control import DETECTORS, MOVE, PLACEMENT_POLICIES, Flat
from nearfar.tier.far import node_of, nodes
from nearfar.tier.far_names import NODE
from nearfar.tier.machine import Obstacle, evictions, require, tracks
from nearfar.tier.share import Share

DEFAULT_POLICY = "payback"
DEFAULT_INTERVAL_NS = 5_000_000_000
DEFAULT_PAIRS = 1000
LEAST_INTERVAL_NS = 10_000_000
MOST_PAIRS = 1 << 20
DIRTY, ACCESSED, PROBE, DAMON = "dirty", "accessed", "probe", "damon"


@dataclass(frozen=True)
class FlatOptions:
    """What the user says of it; None: as it fits."""

    policy: str | None = None
    detector: str | None = None
    interval_ns: int = DEFAULT_INTERVAL_NS
    pairs: int = DEFAULT_PAIRS
    share: Share | None = None


def flat_settings(far: str, options: FlatOptions) -> Flat:
    """What a tree is told. Raises InputError for a node that is not there, and for names that are
    not known; NearfarError if this machine cannot."""
    if not far.startswith(NODE):
        raise InputError(
            f"--far: found {far}, expected node:N with --flat: the processor addresses the memory "
            "of a NUMA node directly, and no other far memory"
        )
    far_node = node_of(far)
    policy = options.policy or DEFAULT_POLICY
    check_one_of("--policy", policy, PLACEMENT_POLICIES)
    require()
    if MOVE not in evictions():
        raise NearfarError(
            f"tier: --flat: userfaultfd cannot move pages in Linux {platform.release()}, but in "
            "6.8 and newer"
        )
    return settings_of(options, policy, _detector(options.detector), far_node)


def settings_of(options: FlatOptions, policy: str, detector: str, far_node: int) -> Flat:
    """What was asked for, with what was chosen."""
    return Flat(
        policy=policy,
        detector=detector,
        near_node=near_node(far_node),
        far_node=far_node,
        interval_ns=options.interval_ns,
        pairs=options.pairs,
        share=options.share,
    )


def near_node(far_node: int) -> int:
    """The first node with memory that is not the far one; that, if there is no other."""
    return next((node for node in nodes() if node != far_node), far_node)


def detectors() -> tuple[str, ...]:
    """Of DETECTORS, those by which this kernel tells which pages are used, best first."""
    noted = tuple(name for name in (ACCESSED, DIRTY) if tracks(name == ACCESSED))
    return (*(name for name in noted if name == ACCESSED), PROBE, *(n for n in noted if n == DIRTY))


def interferences(root: Path = Path("/")) -> list[Obstacle]:
    """What else in this kernel moves pages between nodes meanwhile, and how it is stopped.

    khugepaged is not among them: managed memory is advised not to have huge pages.
    """
    balancing = _setting(root / "proc/sys/kernel/numa_balancing")
    demotion = _setting(root / "sys/kernel/mm/numa/demotion_enabled")
    found = []
    if balancing not in ("", "0"):
        found.append(
            Obstacle(
                f"NUMA balancing ({balancing}) unmaps pages and moves them to the nodes of the "
                "threads that touch them",
                "sysctl kernel.numa_balancing=0",
            )
        )
    if demotion in ("1", "true"):
        found.append(
            Obstacle(
                "reclaim demotes pages to far nodes when near ones are full",
                "echo false > /sys/kernel/mm/numa/demotion_enabled",
            )
        )
    return found


def _setting(file: Path) -> str:
    """What it says; empty where this kernel does not have it."""
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _detector(wanted: str | None) -> str:
    possible = detectors()
    if wanted is None:
        return possible[0]
    check_one_of("--detector", wanted, [name for name in DETECTORS if name != "sampled"])
    if wanted not in possible:
        raise NearfarError(
            f"tier: --detector {wanted}: Linux {platform.release()} does not note it; "
            f"without the option, pages are watched by {possible[0]}"
        )
    return wanted
