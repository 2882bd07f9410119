"""Litmus tests: short programs whose possible and impossible ends are known.

The single-line rules, the flushes and the fences are those of Raad et al., "Persistency Semantics
of the Intel-x86 Architecture" (POPL 2020); that a fence has persisted what it stands behind, of
Khyzha and Lahav, "Taming x86-TSO Persistency" (POPL 2021); store buffering and message passing are
the classical tests of x86-TSO (Sewell et al., CACM 2010); non-temporal stores follow the weak
ordering of Intel's manual (volume 1, 10.4.6.2, and volume 3, memory ordering).
"""

from __future__ import annotations

import pytest

import nearfar
from nearfar import CrashProgram

NAMES = "name x 0x00\nname x2 0x08\nname y 0x40\nname z 0x80\nname a 0xc0\nname b 0x100\n"
EADR = ",imc.domain=eadr"
ALLOWED, FORBIDDEN = True, False

LITMUS = [
    # One thread, two lines
    ("stores of two lines persist in any order", "store x 1; store y 1", "x=0 y=1", ALLOWED),
    ("stores of one line persist in order", "store x 1; store x2 1", "x=0 x2=1", FORBIDDEN),
    ("a line persists in part", "store x 1; store x2 1", "x=1 x2=0", ALLOWED),
    (
        "a line goes back to no older value",
        "store x 1; store x2 1; store x 2",
        "x=2 x2=0",
        FORBIDDEN,
    ),
    ("an sfence alone persists nothing", "store x 1; sfence; store y 1", "x=0 y=1", ALLOWED),
    ("an mfence alone persists nothing", "store x 1; mfence; store y 1", "x=0 y=1", ALLOWED),
    ("clflush keeps its place", "store x 1; clflush x; store y 1", "x=0 y=1", FORBIDDEN),
    ("clwb does not", "store x 1; clwb x; store y 1", "x=0 y=1", ALLOWED),
    ("clflushopt does not", "store x 1; clflushopt x; store y 1", "x=0 y=1", ALLOWED),
    ("clwb and sfence", "store x 1; clwb x; sfence; store y 1", "x=0 y=1", FORBIDDEN),
    ("clflushopt and sfence", "store x 1; clflushopt x; sfence; store y 1", "x=0 y=1", FORBIDDEN),
    ("clwb and mfence", "store x 1; clwb x; mfence; store y 1", "x=0 y=1", FORBIDDEN),
    (
        "clwb and a locked instruction",
        "store x 1; clwb x; xchg z 1; store y 1",
        "x=0 y=1",
        FORBIDDEN,
    ),
    ("the locked store itself waits", "store x 1; clwb x; xchg y 1", "x=0 y=1", FORBIDDEN),
    ("a locked store need not persist", "xchg x 1; store y 1", "x=0 y=1", ALLOWED),
    (
        "a flush before its store is none",
        "clwb x; store x 1; sfence; store y 1",
        "x=0 y=1",
        ALLOWED,
    ),
    ("a flush after the fence is none", "store x 1; sfence; clwb x; store y 1", "x=0 y=1", ALLOWED),
    ("a flush of another line is none", "store x 1; clwb z; sfence; store y 1", "x=0 y=1", ALLOWED),
    ("a flush is of the whole line", "store x 1; clwb x2; sfence; store y 1", "x=0 y=1", FORBIDDEN),
    (
        "a flush covers what came before",
        "store x 1; clwb x; store x 2; sfence; store y 1",
        "x=0 y=1",
        FORBIDDEN,
    ),
    (
        "and not what comes after",
        "store x 1; clwb x; store x 2; sfence; store y 1",
        "x=1 y=1",
        ALLOWED,
    ),
    (
        "flushed lines persist in any order",
        "store x 1; store y 1; clwb x; clwb y; sfence",
        "x=0 y=1",
        ALLOWED,
    ),
    (
        "clflushes persist in order",
        "store x 1; store y 1; clflush x; clflush y; store z 1",
        "x=0 y=1 z=1",
        FORBIDDEN,
    ),
    # Non-temporal stores
    ("a non-temporal store is passed", "ntstore x 1; store y 1", "x=0 y=1", ALLOWED),
    ("a non-temporal store passes", "store x 1; ntstore y 1", "x=0 y=1", ALLOWED),
    ("non-temporal stores pass each other", "ntstore x 1; ntstore y 1", "x=0 y=1", ALLOWED),
    ("within a line too", "ntstore x 1; ntstore x2 1", "x=0 x2=1", ALLOWED),
    ("not to one word", "ntstore x 1; ntstore x 2; sfence", "x=1 a=0", ALLOWED),
    ("the later word stays", "ntstore x 1; ntstore x 2; sfence; store y 1", "x=1 y=1", FORBIDDEN),
    ("an sfence persists them", "ntstore x 1; sfence; store y 1", "x=0 y=1", FORBIDDEN),
    ("so does an mfence", "ntstore x 1; mfence; store y 1", "x=0 y=1", FORBIDDEN),
    ("and a locked instruction", "ntstore x 1; xchg y 1", "x=0 y=1", FORBIDDEN),
    ("clflush of another line does not", "ntstore x 1; clflush z; store y 1", "x=0 y=1", ALLOWED),
    ("clflush of its line does", "ntstore x 1; clflush x; store y 1", "x=0 y=1", FORBIDDEN),
    ("a store to the line waits for it", "ntstore x 1; store x2 1", "x=0 x2=1", FORBIDDEN),
    ("it takes the line's stores along", "store x 1; ntstore x2 1", "x=0 x2=1", FORBIDDEN),
    # Several threads
    ("seen is not persisted", "0 store x 1; 1 await x 1; 1 store y 1", "x=0 y=1", ALLOWED),
    (
        "another's store can be flushed",
        "0 store x 1; 1 await x 1; 1 clwb x; 1 sfence; 1 store y 1",
        "x=0 y=1",
        FORBIDDEN,
    ),
    (
        "message passing, flushed and fenced",
        "0 store x 1; 0 clwb x; 0 sfence; 0 store z 1; 1 await z 1; 1 store y 1",
        "x=0 y=1",
        FORBIDDEN,
    ),
    (
        "message passing, flushed only",
        "0 store x 1; 0 clwb x; 0 store z 1; 1 await z 1; 1 store y 1",
        "x=0 y=1",
        ALLOWED,
    ),
    (
        "another's fence is none for my flush",
        "0 store x 1; 0 clwb x; 0 store z 1; 1 await z 1; 1 sfence; 1 store y 1",
        "x=0 y=1",
        ALLOWED,
    ),
    (
        "message passing by clflush",
        "0 store x 1; 0 clflush x; 0 store z 1; 1 await z 1; 1 store y 1",
        "x=0 y=1",
        FORBIDDEN,
    ),
    (
        "a non-temporal store arrives after its flag",
        "0 ntstore x 1; 0 store z 1; 1 await z 1; 1 await x 0; 1 store y 1",
        "y=1",
        ALLOWED,
    ),
    (
        "stores do not pass stores",
        "0 store x 1; 0 store z 1; 1 await z 1; 1 await x 0; 1 store y 1",
        "y=1",
        FORBIDDEN,
    ),
    (
        "store buffering",
        "0 store x 1; 0 await y 0; 0 store a 1; 1 store y 1; 1 await x 0; 1 store b 1",
        "a=1 b=1",
        ALLOWED,
    ),
    (
        "store buffering with mfence",
        "0 store x 1; 0 mfence; 0 await y 0; 0 store a 1; "
        "1 store y 1; 1 mfence; 1 await x 0; 1 store b 1",
        "a=1 b=1",
        FORBIDDEN,
    ),
    (
        "sfence does not hold up loads",
        "0 store x 1; 0 sfence; 0 await y 0; 0 store a 1; "
        "1 store y 1; 1 sfence; 1 await x 0; 1 store b 1",
        "a=1 b=1",
        ALLOWED,
    ),
    (
        "store buffering with locked stores",
        "0 xchg x 1; 0 await y 0; 0 store a 1; 1 xchg y 1; 1 await x 0; 1 store b 1",
        "a=1 b=1",
        FORBIDDEN,
    ),
    (
        "a thread sees its own store first",
        "0 store x 1; 0 await x 1; 0 store y 1; 1 await x 0; 1 store z 1",
        "x=0 y=1 z=1",
        ALLOWED,
    ),
    (
        "a lock is taken once",
        "0 cas x 0 1; 0 store y 1; 1 cas x 0 2; 1 store z 1",
        "y=1 z=1",
        FORBIDDEN,
    ),
    ("two threads' stores to one line", "0 store x 1; 1 store x2 1", "x=0 x2=1", ALLOWED),
    (
        "in the order that the second saw",
        "0 store x 1; 1 await x 1; 1 store x2 1",
        "x=0 x2=1",
        FORBIDDEN,
    ),
]

EADR_LITMUS = [
    ("stores persist in order", "store x 1; store y 1", "x=0 y=1", FORBIDDEN),
    ("a non-temporal store is passed", "ntstore x 1; store y 1", "x=0 y=1", ALLOWED),
    ("an sfence persists it", "ntstore x 1; sfence; store y 1", "x=0 y=1", FORBIDDEN),
    ("seen is persisted", "0 store x 1; 1 await x 1; 1 store y 1", "x=0 y=1", FORBIDDEN),
    (
        "store buffers are lost",
        "0 store x 1; 0 await y 0; 0 store a 1; 1 store y 1; 1 await x 0; 1 store b 1",
        "a=1 b=1",
        ALLOWED,
    ),
    ("a flush changes nothing", "store x 1; clwb x; store y 1", "x=0 y=0", ALLOWED),
]


def ends_so(text: str, end: str, target: str) -> bool:
    """Whether some crash leaves the words as `end` says."""
    program = CrashProgram.parse(NAMES + text.replace("; ", "\n"))
    wanted = {name: int(value) for name, _, value in (w.partition("=") for w in end.split())}

    def differs(image: nearfar.CrashImage) -> bool:
        return any(image.u64(name) != value for name, value in wanted.items())

    return nearfar.crash(target, program, invariant=differs).architecture.violating > 0


@pytest.mark.parametrize(("text", "end", "allowed"), [
    pytest.param(*rest, id=name) for name, *rest in LITMUS
])  # fmt: skip
def test_a_litmus_test_has_its_known_outcome_with_adr(text: str, end: str, allowed: bool) -> None:
    assert ends_so(text, end, "model:optane-100") is allowed


@pytest.mark.parametrize(("text", "end", "allowed"), [
    pytest.param(*rest, id=name) for name, *rest in EADR_LITMUS
])  # fmt: skip
def test_a_litmus_test_has_its_known_outcome_with_eadr(text: str, end: str, allowed: bool) -> None:
    assert ends_so(text, end, "model:optane-100" + EADR) is allowed
