"""The memory system of a board: NearfarMemory("optane-100")."""

import ctypes
from typing import List, Optional, Sequence, Tuple

from m5.objects import AddrRange, NearfarMemCtrl, NearfarModel, Port
from m5.util.convert import toMemorySize

from ...utils.override import overrides
from ..boards.abstract_board import AbstractBoard
from .abstract_memory_system import AbstractMemorySystem


def _capacity(model: str) -> int:
    """Bytes of the model; gem5 has the library loaded."""
    library = ctypes.CDLL("libnearfar.so.1")
    library.nearfar_error.restype = ctypes.c_char_p
    library.nearfar_memory_capacity.restype = ctypes.c_uint64
    memory = ctypes.c_void_p()
    if library.nearfar_memory_open(model.encode(), ctypes.byref(memory)) != 0:
        raise ValueError(library.nearfar_error().decode())
    capacity = library.nearfar_memory_capacity(memory)
    library.nearfar_memory_destroy(memory)
    return capacity


class NearfarMemory(AbstractMemorySystem):
    """A memory of one model; its channels are the model's own.

    `model` is a preset's name or a file that `nearfar model export` wrote; `size` is how much of it
    the board sees (default: all); `trace` names a file in the output directory.
    """

    def __init__(
        self, model: str, size: Optional[str] = None, delay: str = "0ns", trace: str = ""
    ) -> None:
        super().__init__()
        capacity = _capacity(model)
        self._size = capacity if size is None else toMemorySize(size)
        if self._size > capacity:
            raise ValueError(f"{model}: found size {self._size}, expected at most {capacity} bytes")
        self._delay = delay
        self._ranges: List[AddrRange] = []
        self.nearfar = NearfarModel(file=model, trace=trace)
        self.controllers = [self._controller(0)]

    def _controller(self, device_start: int) -> NearfarMemCtrl:
        return NearfarMemCtrl(model=self.nearfar, device_start=device_start, delay=self._delay)

    @overrides(AbstractMemorySystem)
    def incorporate_memory(self, board: AbstractBoard) -> None:
        pass

    @overrides(AbstractMemorySystem)
    def get_mem_ports(self) -> Sequence[Tuple[AddrRange, Port]]:
        return [(one.range, one.port) for one in self.controllers]

    @overrides(AbstractMemorySystem)
    def get_memory_controllers(self) -> List[NearfarMemCtrl]:
        return list(self.controllers)

    @overrides(AbstractMemorySystem)
    def get_size(self) -> int:
        return self._size

    @overrides(AbstractMemorySystem)
    def set_memory_range(self, ranges: List[AddrRange]) -> None:
        found = sum(one.size() for one in ranges)
        if found != self._size:
            raise ValueError(f"memory ranges: found {found} bytes, expected {self._size}")
        self._ranges = list(ranges)
        controllers, start = [], 0
        for one in ranges:
            controller = self._controller(start)
            controller.range = one
            controllers.append(controller)
            start += one.size()
        self.controllers = controllers

    @overrides(AbstractMemorySystem)
    def get_uninterleaved_range(self) -> List[AddrRange]:
        return self._ranges
