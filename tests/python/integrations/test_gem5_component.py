"""The component for gem5's boards hands out controllers of one model, range by range."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import nearfar
from hosts import ROOT
from nearfar.simulate.library import library

COMPONENT = ROOT / "integrations" / "gem5" / "nearfar.py"


class Object:
    """A SimObject, as far as a component sets and reads its parameters."""

    def __init__(self, **parameters: Any) -> None:
        self.__dict__.update(parameters)


class Range:
    def __init__(self, start: int, size: int) -> None:
        self.start, self._size = start, size

    def size(self) -> int:
        return self._size


def memory_size(text: str) -> int:
    number, unit = text[:-3], text[-3:]
    return int(number) * {"MiB": 1 << 20, "GiB": 1 << 30}[unit]


def override(_: type) -> Callable[[Any], Any]:
    return lambda method: method


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class NearfarMemory, loaded beside stand-ins of what it imports from gem5."""
    ctypes.CDLL(str(library()))  # gem5 has it loaded
    controller = type("NearfarMemCtrl", (Object,), {"port": "port", "range": None})
    stand_ins: dict[str, dict[str, Any]] = {
        "m5": {},
        "m5.objects": {
            "AddrRange": Range,
            "NearfarMemCtrl": controller,
            "NearfarModel": type("NearfarModel", (Object,), {}),
            "Port": str,
        },
        "m5.util": {},
        "m5.util.convert": {"toMemorySize": memory_size},
        "gem5": {},
        "gem5.utils": {},
        "gem5.utils.override": {"overrides": override},
        "gem5.components": {},
        "gem5.components.boards": {},
        "gem5.components.boards.abstract_board": {"AbstractBoard": object},
        "gem5.components.memory": {},
        "gem5.components.memory.abstract_memory_system": {"AbstractMemorySystem": object},
    }
    for name, contents in stand_ins.items():
        module = types.ModuleType(name)
        module.__path__ = []  # a package
        module.__dict__.update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    name = "gem5.components.memory.nearfar"
    spec = importlib.util.spec_from_file_location(name, COMPONENT)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.NearfarMemory


def test_a_component_has_the_capacity_of_its_model(memory: Any) -> None:
    assert memory("ddr4-2666").get_size() == nearfar.Machine("model:ddr4-2666").capacity_bytes
    assert memory("ddr4-2666", size="512MiB").get_size() == 512 << 20


def test_each_range_of_a_board_is_a_controller_of_the_same_model(memory: Any) -> None:
    made = memory("optane-100", size="4GiB", delay="10ns", trace="t.trace")
    ranges = [Range(0, 3 << 30), Range(4 << 30, 1 << 30)]
    made.set_memory_range(ranges)
    first, second = made.get_memory_controllers()
    assert first.model is second.model is made.nearfar
    assert (made.nearfar.file, made.nearfar.trace) == ("optane-100", "t.trace")
    assert (first.device_start, second.device_start) == (0, 3 << 30)
    assert (first.delay, second.delay) == ("10ns", "10ns")
    assert made.get_mem_ports() == [(ranges[0], "port"), (ranges[1], "port")]
    assert made.get_uninterleaved_range() == ranges


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda memory: memory("optane-10"), "optane-10: cannot be read or is empty"),
        (lambda memory: memory("ddr4-2666", size="64GiB"), "expected at most 8589934592 bytes"),
        (
            lambda memory: memory("ddr4-2666").set_memory_range([Range(0, 64)]),
            "memory ranges: found 64 bytes, expected 8589934592",
        ),
    ],
)
def test_what_cannot_be_is_one_line(memory: Any, make: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(memory)
