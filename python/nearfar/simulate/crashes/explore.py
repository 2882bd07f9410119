"""What a loss of power can leave of a program, and whether an invariant holds on all of it."""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.errors import InputError, suggestion
from nearfar.measuring.patterns import Pattern
from nearfar.measuring.quantity import at_least
from nearfar.measuring.target import capacity, describe, environment, resolve, spec
from nearfar.model import Model
from nearfar.results.crash import CrashResult, Explored, Violation
from nearfar.simulate.crashes import recorded as crash_recorded
from nearfar.simulate.crashes.invariant import Invariant, Predicate, load_invariant
from nearfar.simulate.crashes.program import KINDS, WITHOUT_ADDRESS, CrashProgram
from nearfar.simulate.crashes.recorded import Area

if TYPE_CHECKING:
    from nearfar import _core

MAX_STATES = 1_000_000
RUNS = 16
SEED = 1


@dataclass(frozen=True)
class CrashOptions:
    """Which crashes are looked at, and how a trace is read.

    Only those after `from_label` and before `to_label`; of a trace and of a pattern, records and
    lines are numbers that take the place of labels. Where there are more than `max_states`, so many
    are drawn at random instead. Then the program runs `runs` times on the simulated machine, and
    what each instant would leave is looked at. `seed` is of draws and runs.

    A file of a `format` ("auto": told by what is in it), or whose name ends in .nft, is a trace; of
    it only `thread` and what lies in `area` (first byte and bytes) count. `base` is that of
    addresses without 0x; `frames` says where its pages lie as in `ReplayOptions`, of which "fold"
    has no meaning here.
    """

    from_label: str | None = None
    to_label: str | None = None
    max_states: int = MAX_STATES
    runs: int = RUNS
    seed: int = SEED
    format: str | None = None
    base: int | None = None
    frames: str | None = None
    thread: int | None = None
    area: Area | None = None


_DEFAULTS = CrashOptions()


def crash(
    target: str | Model,
    program: str | Path | CrashProgram | Pattern,
    invariant: str | Predicate | None = None,
    options: CrashOptions = _DEFAULTS,
) -> CrashResult:
    """Look at every state that a crash between two labels can leave.

    `program` is a file, a `CrashProgram` or a pattern of stores. `invariant` is
    "FILE.py[:FUNCTION]" or a function of a `CrashImage` that answers True, False or a reason.
    Without one the states are counted.

    Raises InputError for a program, label or predicate that cannot be used, and for a target
    whose memory is volatile.
    """
    at_least("max_states", options.max_states, 1)
    at_least("runs", options.runs, 0)
    model = resolve(target)
    domain = _domain(model)
    given = {"from": options.from_label, "to": options.to_label}
    names = ("format", "base", "frames", "thread", "area")
    choices = {name: getattr(options, name) for name in names}
    program, labels = _program(model, program, given, choices)
    _check_capacity(program, model)
    if isinstance(invariant, str):
        judge: Invariant | None = load_invariant(invariant)
    else:
        judge = None if invariant is None else Invariant(invariant)
    between = _Between(
        program, judge, _core_program(program), domain == "eadr", labels["from"], labels["to"]
    )
    architecture = between.allowed(options, _window(given))
    return CrashResult(
        target=describe(model),
        environment=environment(model, seed=options.seed),
        program={
            "file": program.name,
            "operations": len(program.operations),
            "threads": program.threads,
            **({"frames": "first-touch"} if program.moved else {}),
            **{f"{side}_label": name for side, name in given.items() if name is not None},
        },
        domain=domain,
        architecture=architecture,
        machine=between.met(model, options),
        runs=options.runs,
    )


@dataclass
class _Between:
    """The crashes between two labels of a program, and what judges them."""

    program: CrashProgram
    judge: Invariant | None
    core: _core.CrashProgram
    eadr: bool
    first: int | None
    last: int | None

    def allowed(self, options: CrashOptions, window: str) -> Explored:
        """The states that x86 allows. Raises InputError where there are none in the `window`."""
        tally = _Tally(self.program, self.judge)
        with _lines_of(self.program):
            answer = self.core.states(
                tally.visit,
                eadr=self.eadr,
                from_label=self.first,
                to_label=self.last,
                max_states=options.max_states,
                seed=options.seed,
            )
        if answer["states"] == 0:
            raise InputError(f"{self.program.name}: no crash is possible between {window}")
        return tally.explored(answer["states"], answer["exhaustive"], answer)

    def met(self, model: Model, options: CrashOptions) -> Explored:
        """Those of simulated runs, which are among the others."""
        tally = _Tally(self.program, self.judge)
        states = self.core.runs(
            model.export(),
            tally.visit,
            eadr=self.eadr,
            from_label=self.first,
            to_label=self.last,
            runs=options.runs,
            seed=options.seed,
        )
        return tally.explored(states, exhaustive=False)


def _program(
    model: Model,
    program: str | Path | CrashProgram | Pattern,
    given: Mapping[str, str | None],
    choices: Mapping[str, Any],
) -> tuple[CrashProgram, dict[str, int | None]]:
    """The program, and the numbers of the labels that crashes lie between."""
    from_a_file = isinstance(program, (str, Path))
    is_trace = from_a_file and (choices["format"] is not None or str(program).endswith(".nft"))
    if not is_trace:
        for name, value in choices.items():
            if value is not None:
                raise InputError(f"{name}: is of a trace, which {program} is not")
    if isinstance(program, (str, Path)) and not is_trace:
        program = CrashProgram.load(program)
    if isinstance(program, CrashProgram):
        return program, {side: _label(program, side, name) for side, name in given.items()}
    first, last = (_number(side, name) for side, name in given.items())
    if isinstance(program, (str, Path)):
        if model["near.kind"] == "tier":
            raise InputError(
                f"{spec(model)}: has near memory beside the DIMMs, in which nothing survives, and "
                "a trace's addresses count it; expected near.kind = none"
            )
        choices = {**choices, "format": choices["format"] or "auto"}
        frames = choices.pop("frames")
        made = crash_recorded.of_trace(program, first=first, last=last, **choices)
        crash_recorded.give_frames(made, frames, capacity(model))
        return made, {"from": None if first is None else 0, "to": None}
    made = crash_recorded.of_pattern(model, program)
    if last is not None:
        crash_recorded.cut(made, last)
    if first is not None:
        crash_recorded.mark(made, first)
    return made, {"from": None if first is None else 0, "to": None}


def _number(side: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise InputError(
            f"--{side}: found '{text}', expected the number of a record or line, from 1"
        )
    return int(text)


@dataclass
class _Reason:
    """States that break the invariant for one reason; the stores of the best example."""

    states: int = 0
    lost: list[int] = field(default_factory=list)
    persisted: list[int] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)


class _Tally:
    """Judges states as they come and keeps, for each reason, the one that lost least."""

    def __init__(self, program: CrashProgram, invariant: Invariant | None) -> None:
        self._program = program
        self._invariant = invariant
        self._reasons: dict[str, _Reason] = {}

    def visit(self, image: _core.CrashImage) -> None:
        if self._invariant is None:
            return
        why = self._invariant.broken(image)
        if why is None:
            return
        reason = self._reasons.setdefault(why, _Reason())
        persisted, lost = image.stores()
        if reason.states == 0 or len(lost) < len(reason.lost):
            reason.lost = lost
            reason.persisted = [op for op in persisted if lost and op > lost[0]]
            reason.passed = [name for name in self._program.labels if image.passed(name)]
        reason.states += 1

    def explored(
        self, states: int, exhaustive: bool, answer: _core.CrashStatesData | None = None
    ) -> Explored:
        stuck = answer["stuck"] if answer else None
        return Explored(
            states=states,
            exhaustive=exhaustive,
            combinations=answer["combinations"] if answer else None,
            stuck=None if stuck is None else self._text(stuck),
            violating=sum(reason.states for reason in self._reasons.values()),
            violations=[self._violation(why, found) for why, found in self._reasons.items()],
        )

    def _violation(self, why: str, found: _Reason) -> Violation:
        return Violation(
            reason=why,
            states=found.states,
            passed=found.passed,
            lost=[self._text(op) for op in found.lost],
            persisted=[self._text(op) for op in found.persisted],
        )

    def _text(self, number: int) -> str:
        operation = self._program.operations[number]
        return f"{self._program.name}:{operation.line}: {self._program.text(operation)}"


def _domain(model: Model) -> str:
    if model["machine"] != "nvdimm":
        raise InputError(
            f"{spec(model)}: its memory is volatile (machine = {model['machine']}), so a crash "
            "leaves nothing; expected one with non-volatile DIMMs, such as model:optane-100"
        )
    if model["near.kind"] == "cache" and model["near.app_direct"] == 0:
        raise InputError(
            f"{spec(model)}: is in Memory Mode (near.kind = cache), which keeps nothing over a "
            "crash; expected near.kind = none, or a part in App Direct (near.app_direct)"
        )
    return str(model["imc.domain"])


def _check_capacity(program: CrashProgram, model: Model) -> None:
    end = capacity(model)
    # In Mixed Mode, memory in App Direct comes last.
    begin = end - int(model["near.app_direct"]) if model["near.kind"] == "cache" else 0
    for operation in program.operations:
        if operation.kind in WITHOUT_ADDRESS:
            continue
        address = program.physical(operation.address)
        if address < begin:
            raise InputError(
                f"{program.name}:{operation.line}: found address {address:#x}, which is "
                f"in Memory Mode, expected {begin:#x} or more, where App Direct begins"
            )
        if address >= end:
            raise InputError(
                f"{program.name}:{operation.line}: found address {address:#x}, "
                f"expected less than the memory's {end:#x}"
            )


def _label(program: CrashProgram, side: str, name: str | None) -> int | None:
    if name is None:
        return None
    if name not in program.labels:
        known = ", ".join(program.labels) or "none"
        hint = suggestion(name, program.labels)
        raise InputError(
            f"--{side}: found no label '{name}' in {program.name}, which has {known}{hint}"
        )
    return program.labels[name]


def _window(given: dict[str, str | None]) -> str:
    return f"{given['from'] or 'the start'} and {given['to'] or 'the end'}"


@contextlib.contextmanager
def _lines_of(program: CrashProgram) -> Iterator[None]:
    """Turns the core's "operation N" into the line of the program's text."""
    try:
        yield
    except InputError as error:
        found = re.match(r"operation (\d+) (.*)", str(error))
        if found is None:
            raise
        operation = program.operations[int(found[1])]
        place = f"{program.name}:{operation.line}"
        raise InputError(f"{place}: '{program.text(operation)}' {found[2]}") from None


def _core_program(program: CrashProgram) -> _core.CrashProgram:
    from nearfar import _core

    threads = {n: i for i, n in enumerate(sorted({o.thread for o in program.operations}))}
    operations = [
        (
            KINDS.index(o.kind),
            threads[o.thread],
            0 if o.kind in WITHOUT_ADDRESS else program.physical(o.address),
            o.value,
            o.expected,
        )
        for o in program.operations
    ]
    return _core.CrashProgram(
        _words(operations),
        initial=_words(program.initial.items()),
        addresses=program.addresses,
        labels=program.labels,
        lines=[operation.line for operation in program.operations],
        frames=program.frames,
    )


def _words(items: Iterable[tuple[int, ...]]) -> bytes:
    words = [word for item in items for word in item]
    return struct.pack(f"<{len(words)}Q", *words)
