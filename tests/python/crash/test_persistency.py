"""The states of a crash: against a step-by-step machine, and against the literature."""

from __future__ import annotations

import random

import pytest

import nearfar
from nearfar import CrashProgram
from persistency_reference import State, reachable

OPTANE = nearfar.load_model("optane-100")
TARGETS = {False: OPTANE, True: OPTANE.override("imc.domain=eadr")}
WORDS = [0x00, 0x08, 0x40, 0x48, 0x80]


def states(program: CrashProgram, words: list[int], *, eadr: bool = False) -> set[State]:
    """What `nearfar crash` visits; fails when it visits a state twice."""
    found: list[State] = []

    def note(image: nearfar.CrashImage) -> bool:
        passed = {number for name, number in program.labels.items() if image.passed(name)}
        found.append((tuple(image.u64(word) for word in words), frozenset(passed)))
        return True

    crashed = nearfar.crash(
        TARGETS[eadr], program, invariant=note, options=nearfar.CrashOptions(runs=0)
    )
    assert crashed.architecture.exhaustive
    assert crashed.architecture.states == len(found) == len(set(found))
    return set(found)


def random_program(seed: int, threads: int, length: int) -> CrashProgram:
    rng = random.Random(seed)
    kinds = ["store"] * 4 + ["ntstore"] * rng.choice([0, 2]) + ["clwb", "clflushopt"]
    kinds += ["clflush", "sfence", "sfence", "mfence", "xchg", "label"]
    words = rng.sample(WORDS, rng.randint(2, 4))
    lines = [f"init {rng.choice(words):#x} 9"]
    for i in range(length):
        kind, word = rng.choice(kinds), rng.choice(words)
        text = f"{rng.randrange(threads)} {kind}"
        if kind == "label":
            text += f" l{i}"
        elif not kind.endswith("fence"):
            text += f" {word:#x}"
        if kind in ("store", "ntstore", "xchg"):
            text += f" {rng.randint(1, 3)}"  # the same value twice is the same image
        lines.append(text)
    return CrashProgram.parse("\n".join([*lines, "0 store 0x0 4"]))


@pytest.mark.parametrize("eadr", [False, True], ids=["adr", "eadr"])
@pytest.mark.parametrize(("threads", "length", "count"), [(1, 7, 150), (2, 6, 100), (3, 5, 60)])
def test_the_states_are_those_of_a_machine_played_step_by_step(
    threads: int, length: int, count: int, eadr: bool
) -> None:
    several = 0
    for seed in range(count):
        program = random_program(seed, threads, length)
        expected = reachable(program, WORDS, eadr=eadr)
        assert states(program, WORDS, eadr=eadr) == expected, f"seed {seed}"
        several += len(expected) > 4
    assert several > count / 4
