"""Every operation on memory at once, on several threads, with every page's contents known.

NEARFAR_STRESS_SECONDS says for how long in all: 60 here, 1800 in `make stress`; longer if not all
has happened by then. The seed is another one at each run, NEARFAR_STRESS_SEED a certain one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tiered import PROGRAMS, SLOWER, WAYS, compiled, need, needs_tier, run_tiered

SECONDS = int(os.environ.get("NEARFAR_STRESS_SECONDS", "60"))
SEED = os.environ.get("NEARFAR_STRESS_SEED", str(os.getpid()))
SIZES = (
    ("2MiB", 3, 2000, ""), ("4MiB", 4, 6000, ""), ("16MiB", 6, 12000, ""),
    ("64MiB", 6, 12000, ""), ("64MiB", 3, 45000, "large"),
)  # fmt: skip
# In a minute there is time for one way beside the first in each size at most.
MINUTE = {
    "2MiB": "compressed",
    "4MiB": "compressed in a file",
    "16MiB": "in memory",
    "64MiB": "copied",
}
CASES = [
    (*size, way)
    for size in SIZES
    for way in WAYS
    if SECONDS > 60 or way == "moved" or (way == MINUTE[size[0]] and not size[3])
]
# What a run must have seen. With much near memory on a busy machine that takes several.
EVERYTHING = ("forks", "copies_out", "second_chances", "clean_drops", "zero_drops", "pinned")
MOST_ROUNDS = 5


@pytest.fixture(scope="module")
def stress(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(PROGRAMS / "stress.c", tmp_path_factory.mktemp("tier") / "stress")


@needs_tier
@pytest.mark.parametrize(("near", "threads", "pages", "blocks", "way"), CASES)
def test_nothing_is_lost_while_everything_is_done_to_memory(
    tmp_path: Path, stress: Path, near: str, threads: int, pages: int, blocks: str, way: str
) -> None:
    need(way)
    seconds = SLOWER * SECONDS // len(CASES)
    words = [stress, SEED, f"{seconds}s", str(threads), str(pages)]
    # What a device writes may be lost where pages are copied, as documented.
    words += ["unpinned"] if way == "copied" else []
    # Huge pages come and go with blocks that are larger than they.
    words += [blocks] if blocks else []
    huge = ("huge_moves", "huge_ins") if blocks and way != "copied" else ()
    happened = dict.fromkeys((*EVERYTHING, *huge), 0)
    for _ in range(MOST_ROUNDS):
        ran = run_tiered(
            tmp_path, near, *words, options=WAYS[way], cwd=tmp_path, timeout=seconds + 200 * SLOWER
        )
        assert ran.out == "ok\n", f"seed {SEED}: {ran.out}{ran.err}"
        ran.covered()
        happened = {what: times + ran.counts[what] for what, times in happened.items()}
        if all(happened.values()):
            return
    raise AssertionError(f"after {MOST_ROUNDS} rounds: {happened}")
