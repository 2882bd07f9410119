"""Placement policies on two addressed tiers side by side, as text."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.report.text import table
from nearfar.results.flat_replay import FlatPolicy, FlatReplayResult, FlatSize
from nearfar.results.wording import number, size

HEADER = (
    "placement",
    "time s",
    "x all near",
    "of the gap",
    "of the bound",
    "far reads",
    "far writes",
    "moved in",
    "at first",
    "at last",
    "moving ms",
    "detecting ms",
)


def flat_replay_text(replay: FlatReplayResult) -> str:
    """A table for each size of near memory, like that of RAMinate's paper."""
    scale = f", time scale {number(replay.time_scale)}" if replay.time_scale != 1 else ""
    of = f", of {size(replay.memory_bytes)} of memory" if replay.memory_bytes else ""
    taken = "; the times of the trace are taken for those of near memory"
    head = (
        f"{replay.file}: {replay.reads} reads and {replay.writes} writes of {replay.pages} pages"
        f" of {size(replay.page_bytes)}{of}\n"
        f"{replay.decisions} decisions, one each {_time(replay.interval_ns)}, of at most "
        f"{replay.pairs} pairs at {_time(replay.move_cost_ns)}; detector {replay.detector}{scale}\n"
        f"a read takes {_pair(replay.read_ns)}, a write {_pair(replay.write_ns)}"
        f"{taken if replay.times_with_memory else ''}\n"
    )
    return head + "".join(_one_size(one, replay) for one in replay.sizes)


def _time(ns: float) -> str:
    for unit, ns_each in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= ns_each:
            return f"{number(ns / ns_each)} {unit}"
    return f"{number(ns)} ns"


def _pair(times: Sequence[float]) -> str:
    near, far = times
    return f"{_time(near)} near and {_time(far)} far"


def _one_size(one: FlatSize, replay: FlatReplayResult) -> str:
    share = one.near_pages / replay.pages
    return (
        f"\nnear {size(one.near_bytes)}: {one.near_pages} pages, {share:.1%} of those touched\n"
        + table(HEADER, rows_of(one, replay), "<" + ">" * (len(HEADER) - 1))
    )


def rows_of(one: FlatSize, replay: FlatReplayResult) -> list[tuple[str, ...]]:
    """All near, the policies, all far, and the bounds, as HEADER says."""
    return [
        _bound("all near", replay.all_near_ns, replay),
        *(_row(policy) for policy in one.policies),
        _bound("all far", replay.all_far_ns, replay),
        _bound("(hottest, none moved)", one.hottest_ns, replay),
        _bound("(offline bound)", one.bound_ns, replay),
    ]


def _bound(name: str, time_ns: float, replay: FlatReplayResult) -> tuple[str, ...]:
    cells = (name, number(time_ns / 1e9), f"{time_ns / replay.all_near_ns:.3f}")
    return cells + ("",) * (len(HEADER) - len(cells))


def _row(policy: FlatPolicy) -> tuple[str, ...]:
    moves = policy.intervals["promoted"]
    quarter = -(-len(moves) // 4)
    return (
        policy.policy,
        number(policy.time_ns / 1e9),
        f"{policy.slowdown:.3f}",
        _share(policy.gap_recovered),
        _share(policy.bound_recovered),
        str(policy.far_reads),
        str(policy.far_writes),
        str(policy.promoted),
        f"{sum(moves[:quarter]) / quarter:.1f}",
        f"{sum(moves[-quarter:]) / quarter:.1f}",
        number(policy.move_ns / 1e6),
        number(policy.detect_ns / 1e6),
    )


def _share(recovered: float | None) -> str:
    return "" if recovered is None else f"{recovered:.1%}"
