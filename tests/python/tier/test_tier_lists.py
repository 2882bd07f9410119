"""Lists and layouts that C++ declares and Python reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar import _lists
from nearfar.layout import read_field, record, values, write_field
from nearfar.results.faults import Event
from nearfar.tier import control
from nearfar.tier.control import Delay, Owner, Residence, Settings
from nearfar.tier.far import store_of
from nearfar.tier.far_names import KINDS, backing, kind_of

CORE = Path(__file__).resolve().parents[3] / "core"


@pytest.fixture
def memory() -> Iterator[int]:
    settings = Settings(
        policy="clock", compression="zstd", far_store="compressed", eviction="copy",
        pager_cpu="same", delay=Delay(latency_ps=7, transfer_ps=9), fault_log=5,
    )  # fmt: skip
    descriptor = control.create(64 << 20, settings)
    yield descriptor
    os.close(descriptor)


def test_python_knows_every_event_of_a_record_of_faults() -> None:
    assert [event.name.lower() for event in Event] == list(_lists.FAULT_EVENTS)[1:]


def test_python_knows_every_residence() -> None:
    assert [residence.name.lower() for residence in Residence] == list(_lists.RESIDENCES)


def test_every_entry_of_a_list_has_a_meaning() -> None:
    lists = (_lists.COUNTS, _lists.EVICTIONS, _lists.PAGER_CPUS, _lists.COMPRESSIONS)
    assert all(meaning for entries in lists for meaning in entries.values())
    assert all(meaning for _, _, meaning in _lists.FAR_STORES.values())


def test_settings_are_read_from_the_control_memory(memory: int) -> None:
    assert control.limit(memory) == (64 << 20) // control.PAGE
    assert control.policy(memory) == "clock"
    assert control.compression(memory) == "zstd"
    assert control.eviction(memory) == "copy"
    orders = {name: read_field(memory, field) for name, field in _lists.ORDERS.items()}
    assert (orders["latency_ps"], orders["transfer_ps"]) == (7, 9)
    assert list(_lists.PAGER_CPUS)[orders["pager_cpu"]] == "same"
    assert list(_lists.FAR_STORES)[orders["far_store"]] == "compressed"
    assert read_field(memory, _lists.CONTROL["fault_log"]) == 5
    assert os.fstat(memory).st_size == _lists.CONTROL_BYTES


def test_an_order_is_read_as_it_was_given(memory: int) -> None:
    control.set_residence(memory, Residence.KEPT)
    assert control.residence(memory) is Residence.KEPT
    control.set_owner(memory, Owner(11, 12, 13, 14))
    assert control.owner(memory) == Owner(11, 12, 13, 14)
    control.set_limit(memory, 99)
    assert control.limit(memory) == 99


def test_members_are_read_with_their_answers(memory: int) -> None:
    write_field(memory, _lists.CONTROL["members_end"], 2)
    second = _lists.CONTROL["members"][0] + _lists.MEMBER_BYTES
    answer = _lists.ORDERS["answers"][0] + _lists.ANSWER_BYTES
    for number, (name, (offset, kind)) in enumerate(_lists.MEMBER.items(), start=20):
        del name
        write_field(memory, (second + offset, kind), number)
    for number, (offset, kind) in enumerate(_lists.ANSWER.values(), start=40):
        write_field(memory, (answer + offset, kind), number)
    assert control.members(memory) == [
        control.Member(20, 21, 22, obeyed=40, far=41, pager_thread=23, region=24)
    ]


def test_counts_are_read_by_name(memory: int) -> None:
    offset, kind = _lists.CONTROL["counts"]
    write_field(memory, (offset + 8 * list(_lists.COUNTS).index("forks"), kind), 3)
    assert {name: n for name, n in control.counts(memory).items() if n} == {"forks": 3}


def test_gaps_between_fields_are_passed_over() -> None:
    layout = {"second": (12, "I"), "first": (4, "B")}
    assert record(layout, 16).size == 16
    assert values(layout, bytes([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0])) == {"first": 1, "second": 2}


def test_far_stores_are_known_by_what_the_user_types() -> None:
    assert [kind_of(name) for name in ("anonymous", "node:3", "compressed", "./node:3", "x")] == [
        "anonymous", "node", "compressed", "file", "file",
    ]  # fmt: skip
    assert [backing(kind) for kind in ("file", "node", "compressed")] == ["file", "node", "memory"]
    assert KINDS == "FILE, anonymous, node:N or compressed"
    assert (store_of("x", "none"), store_of("x", "lz4")) == ("file", "compressed")


def test_adding_a_far_store_is_a_file_and_an_entry_of_the_list() -> None:
    """Only the list and the stores name what makes them; others find them in the list."""
    maker = re.compile(r"\bmake_(file|memory|compressed)_store\b")
    naming = {
        file.relative_to(CORE).as_posix()
        for file in (*CORE.rglob("*.h"), *CORE.rglob("*.cpp"))
        if maker.search(file.read_text(encoding="utf-8"))
    }
    stores = [f"tier/far/{name}_store" for name in ("file", "memory", "compressed")]
    assert naming == {
        "tier/far/far_stores.cpp", *(f"{store}.h" for store in stores),
        *(f"{store}.cpp" for store in stores),
    }  # fmt: skip
