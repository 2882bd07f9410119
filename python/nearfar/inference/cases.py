"""What no probe can tell, because the device behaves alike whatever it is.

These are the reasons of findings that are not identifiable on a device that hides nothing;
any other reason means that an experiment was missing or did not speak clearly. The list is
published (docs/probing.md), and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping

ONE_WAY = "with one way there is nothing to choose"
ONE_MODULE = "there is one module: nothing alternates"
NO_MIGRATION = "no block moved"
NO_WAITING = (
    "a line just stored is in the buffer behind the queue at once: it does not wait to be joined "
    "by others, so there is nothing to drain"
)
ONE_LEVEL = "fewer than two levels were found"
ONE_ENTRY_SIZE = "the levels have entries of one size, so none shares more than another"

# Each with the findings that it may concern; N counts levels.
CASES: Mapping[str, tuple[str, ...]] = {
    ONE_WAY: ("buffer.N.policy",),
    ONE_MODULE: ("interleave",),
    NO_MIGRATION: ("migration.period", "migration.stall", "migration.block"),
    NO_WAITING: ("fence.drains_lsq",),
    ONE_LEVEL: ("hierarchy",),
    ONE_ENTRY_SIZE: ("hierarchy",),
}
