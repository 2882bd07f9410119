"""How programs, and machines, are run on a simulated one."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.errors import InputError, check_one_of
from nearfar.model import Model
from nearfar.simulate.programs.places import check_place
from nearfar.simulate.programs.qemu import QEMU
from nearfar.simulate.replay import check_window

CORES = ("window", "simple", "count")
PAGES = ("small", "huge")


@dataclass(frozen=True)
class RunOptions:
    """How a program is run.

    `core` executes: "window", "simple", or "count", which simulates no memory; None: the model's.
    `place` says in which tier pages lie: "near", "far", "interleave", or as a policy says:
    "cached:NAME", "flat:NAME" or "oracle:NAME" (`programs.places.POLICIES` has the names); at most
    `near_bytes` are near. A policy that exchanges pages decides each `interval_ps`, moves at most
    `pairs` of them, and learns of their use by `detector`; None: as the model has it. `pages` are
    "small" (4 KiB) or "huge" (2 MiB). Files below the folder `persistent` lie in far memory,
    whatever `place` says. `regions_only` counts only between NEARFAR_ROI_BEGIN and
    NEARFAR_ROI_END. Of each program `skip` instructions are not simulated, `warm` after them
    simulated and not counted, then `measured` counted (None: all); the rest runs to its end
    unmeasured.

    `sample` measures windows all over each program instead, one of so many or as many as it takes
    ("auto"): `measured` and `warm` are then each window's (None: as `programs.sampled` has it).
    """

    core: str | None = None
    place: str = "far"
    pages: str = "small"
    near_bytes: int | None = None
    interval_ps: int | None = None
    pairs: int | None = None
    detector: str | None = None
    persistent: str | None = None
    regions_only: bool = False
    skip: int = 0
    warm: int | None = None
    measured: int | None = None
    sample: int | str | None = None
    qemu: str = QEMU


def checked_core(model: Model, options: RunOptions) -> str:
    """The kind of core that executes. Raises InputError for an option's unknown name."""
    core = str(model["cpu.core.kind"]) if options.core is None else options.core
    check_one_of("core", core, CORES)
    check_one_of("pages", options.pages, PAGES)
    check_place(options.place)
    return core


def window_of(options: RunOptions) -> dict[str, int]:
    """What of each program counts, in instructions; empty if that is everything."""
    warm = options.warm or 0
    check_window(options.skip, warm, options.measured)
    given = {"skip": options.skip, "warm": warm, "run": options.measured or 0}
    if not any(given.values()):
        return {}
    if options.regions_only:
        raise InputError("roi: goes with none of skip, warm and run; expected one way to say what")
    return given


def with_options(model: Model, options: RunOptions, core: str) -> Model:
    """The model with its core and with how a policy decides, where they are given."""
    given: dict[str, str | int | None] = {
        "cpu.core.kind": None if core == "count" else core,
        "run.interval": options.interval_ps and f"{options.interval_ps} ps",
        "run.pairs": options.pairs,
        "run.detector": options.detector,
    }
    return model.override({name: value for name, value in given.items() if value is not None})
