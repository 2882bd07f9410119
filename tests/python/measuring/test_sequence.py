"""A list of steps goes to the machine as words and comes back as times."""

from __future__ import annotations

import struct

import pytest

from nearfar import InputError
from nearfar.model import load

MODEL = load("optane-100").export()

LOAD, STORE, MFENCE, SFENCE, WAIT, DELAY = range(6)


def words(*steps: tuple[int, int]) -> bytes:
    packed = [operation << 56 | operand for operation, operand in steps]
    return struct.pack(f"<{len(packed)}Q", *packed)


def play(steps: bytes, agent: str = "none", outstanding: int = 1) -> tuple[list[int], list[int]]:
    from nearfar import _core

    data = _core.sequence(MODEL, steps=steps, outstanding=outstanding, agent=agent, seed=1)
    count = f"<{len(steps) // 8}Q"
    issued, done = (struct.unpack(count, data[key]) for key in ("issued_ps", "done_ps"))
    assert data["elapsed_ps"] == max(done, default=0)
    assert data["counters"]["channel.0.reads"] == sum(
        word >> 56 == LOAD for word in struct.unpack(count, steps)
    )
    return list(issued), list(done)


@pytest.mark.parametrize("agent", ["none", "core"])
def test_every_step_comes_back_with_its_times_in_order(agent: str) -> None:
    steps = words((LOAD, 4096), (WAIT, 0), (DELAY, 1000), (STORE, 0), (MFENCE, 0), (SFENCE, 0))
    issued, done = play(steps, agent)
    assert done[1] == done[0]
    assert (issued[2], done[2]) == (done[1], done[1] + 1000)
    assert all(begin <= end for begin, end in zip(issued, done, strict=True))
    assert issued == sorted(issued)


def test_a_second_load_of_a_block_finds_it_in_the_first_buffer() -> None:
    issued, done = play(words((LOAD, 0), (LOAD, 64)))
    first, second = (end - begin for begin, end in zip(issued, done, strict=True))
    assert second < first / 2


def test_an_empty_list_takes_no_time() -> None:
    assert play(b"") == ([], [])


@pytest.mark.parametrize(
    ("steps", "agent", "complaint"),
    [
        (b"1234567", "none", "sequence: steps has 7 bytes, expected a multiple of 8"),
        (words((8, 0)), "none", "sequence: step 0 has operation 8, expected 0 to 7"),
        (words((LOAD, 1 << 40)), "core", "beyond the memory of 274877906944 B"),
        (words((LOAD, 0)), "cpu", "agent 'cpu' is not known, expected core or none"),
    ],
)
def test_a_step_that_cannot_be_played_is_bad_input(
    steps: bytes, agent: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        play(steps, agent)
