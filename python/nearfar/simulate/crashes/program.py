"""Programs of persistent operations: the text that says them, and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.errors import InputError, file_error, suggestion

# In the order of the core's persistence::Kind.
KINDS = (
    "store",
    "ntstore",
    "clwb",
    "clflushopt",
    "clflush",
    "sfence",
    "mfence",
    "await",
    "xchg",
    "cas",
    "label",
)
STORES = ("store", "ntstore", "xchg", "cas")
WITHOUT_ADDRESS = ("sfence", "mfence", "label")
MOST_THREADS = 64
PAGE = 4096


@dataclass(frozen=True)
class Operation:
    """One step of one thread; stores are of 8 bytes, at multiples of 8."""

    kind: str
    thread: int
    line: int  # of the text it comes from
    address: int = 0
    value: int = 0  # of a label: its number
    expected: int = 0


@dataclass
class CrashProgram:
    """What some threads do to persistent memory; `parse` and `load` read it from text."""

    name: str
    operations: list[Operation] = field(default_factory=list)
    initial: dict[int, int] = field(default_factory=dict)  # durable words, by address
    addresses: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    # Of a program with virtual addresses, which it was not written with: frames of its pages.
    frames: dict[int, int] = field(default_factory=dict)
    moved: bool = False  # into frames, as its addresses exceed memory

    @classmethod
    def load(cls, path: str | Path) -> CrashProgram:
        """Read a program's file. Raises InputError, with the file and the line."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise file_error(path, error) from None
        except UnicodeDecodeError:
            raise InputError(f"{path}: is not text") from None
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str = "program") -> CrashProgram:
        """Read a program; docs/persistence.md has the language. Raises InputError."""
        program = cls(name)
        reader = _Reader(program)
        for number, line in enumerate(text.splitlines(), 1):
            reader.read(number, line.partition("#")[0].split())
        if not any(operation.kind in STORES for operation in program.operations):
            raise InputError(f"{name}: found no store in it, so nothing can be lost")
        return program

    @property
    def threads(self) -> int:
        """How many threads there are."""
        return len({operation.thread for operation in self.operations})

    def touch(self, address: int, size: int) -> None:
        """Give the pages of virtual addresses frames, in the order in which they are touched."""
        for page in range(address // PAGE, (address + size - 1) // PAGE + 1):
            self.frames.setdefault(page, len(self.frames))

    def physical(self, address: int) -> int:
        """Where in memory an address lies."""
        if not self.frames:
            return address
        return self.frames[address // PAGE] * PAGE + address % PAGE

    def place(self, address: int) -> str:
        """The address in the program's own names, where it has one nearby."""
        below = [(at, name) for name, at in self.addresses.items() if at <= address < at + 4096]
        if not below:
            return f"{address:#x}"
        at, name = max(below)
        return name if at == address else f"{name}+{address - at}"

    def text(self, operation: Operation) -> str:
        """The operation as a line of a program would say it."""
        kind, place = operation.kind, self.place(operation.address)
        words = {"cas": [place, _number(operation.expected), _number(operation.value)]}
        if kind == "label":
            names = {number: name for name, number in self.labels.items()}
            words[kind] = [names[operation.value]]
        elif kind in ("store", "ntstore", "await", "xchg"):
            words[kind] = [place, _number(operation.value)]
        elif kind in ("clwb", "clflushopt", "clflush"):
            words[kind] = [place]
        thread = [str(operation.thread)] if self.threads > 1 else []
        return " ".join([*thread, kind, *words.get(kind, [])])


def _number(value: int) -> str:
    return str(value) if value < 1 << 16 else f"{value:#x}"


_SYNTAX = {
    "name": "name NAME ADDRESS",
    "init": "init ADDRESS VALUE...",
    "store": "store ADDRESS VALUE...",
    "ntstore": "ntstore ADDRESS VALUE...",
    "clwb": "clwb ADDRESS",
    "clflushopt": "clflushopt ADDRESS",
    "clflush": "clflush ADDRESS",
    "sfence": "sfence",
    "mfence": "mfence",
    "await": "await ADDRESS VALUE",
    "xchg": "xchg ADDRESS VALUE",
    "cas": "cas ADDRESS EXPECTED VALUE",
    "label": "label NAME",
}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class _Reader:
    """Reads line after line into a program."""

    def __init__(self, program: CrashProgram) -> None:
        self._program = program
        self._line = 0
        self._words: list[str] = []
        self._thread = 0

    def read(self, number: int, words: list[str]) -> None:
        self._line, self._words, self._thread = number, words, 0
        if not words:
            return
        if words[0].isdecimal():
            self._thread = int(words[0])
            if self._thread >= MOST_THREADS:
                self._fail(f"found thread {words[0]}, expected 0 to {MOST_THREADS - 1}")
            words = words[1:]
            if not words or words[0] in ("name", "init"):
                self._fail(
                    f"found '{' '.join(self._words)}', expected an operation after its thread"
                )
        kind, operands = words[0], words[1:]
        if kind not in _SYNTAX:
            hint = suggestion(kind, _SYNTAX)
            self._fail(f"found operation '{kind}', expected one of {', '.join(_SYNTAX)}{hint}")
        read: dict[str, Callable[[str, list[str]], None]] = {
            "name": self._name,
            "init": self._init,
            "label": self._label,
            "cas": self._compare_exchange,
            "sfence": self._fence,
            "mfence": self._fence,
            "clwb": self._flush,
            "clflushopt": self._flush,
            "clflush": self._flush,
            "store": self._store,
            "ntstore": self._store,
            "await": self._word,
            "xchg": self._word,
        }
        read[kind](kind, operands)

    def _name(self, kind: str, operands: list[str]) -> None:
        self._count(kind, operands, 2)
        name = operands[0]
        if not _WORD.fullmatch(name):
            self._fail(f"found name '{name}', expected a letter, then letters, digits, . _ -")
        if name in self._program.addresses:
            self._fail(f"found name '{name}' a second time")
        self._program.addresses[name] = self._value(operands[1])

    def _init(self, kind: str, operands: list[str]) -> None:
        for address, value in self._stored(kind, operands):
            self._program.initial[address] = value

    def _label(self, kind: str, operands: list[str]) -> None:
        self._count(kind, operands, 1)
        if operands[0] in self._program.labels:
            self._fail(f"found label '{operands[0]}' a second time")
        number = self._program.labels.setdefault(operands[0], len(self._program.labels))
        self._add(kind, value=number)

    def _fence(self, kind: str, operands: list[str]) -> None:
        self._count(kind, operands, 0)
        self._add(kind)

    def _flush(self, kind: str, operands: list[str]) -> None:
        self._count(kind, operands, 1)
        self._add(kind, address=self._value(operands[0]) & ~7)

    def _store(self, kind: str, operands: list[str]) -> None:
        for address, value in self._stored(kind, operands):
            self._add(kind, address=address, value=value)

    def _word(self, kind: str, operands: list[str]) -> None:
        self._count(kind, operands, 2)
        self._add(kind, address=self._address(operands[0]), value=self._value(operands[1]))

    def _compare_exchange(self, kind: str, operands: list[str]) -> None:
        self._count(kind, operands, 3)
        address, expected, value = operands
        self._add(kind, self._address(address), self._value(value), self._value(expected))

    def _stored(self, kind: str, operands: list[str]) -> list[tuple[int, int]]:
        """Neighbouring words and what they are to hold."""
        if len(operands) < 2:
            self._expected(kind)
        first = self._address(operands[0])
        return [(first + 8 * i, self._value(text)) for i, text in enumerate(operands[1:])]

    def _add(self, kind: str, address: int = 0, value: int = 0, expected: int = 0) -> None:
        self._program.operations.append(
            Operation(kind, self._thread, self._line, address, value, expected)
        )

    def _address(self, text: str) -> int:
        address = self._value(text)
        if address % 8:
            self._fail(f"found address '{text}', expected a multiple of 8")
        return address

    def _value(self, text: str) -> int:
        """A number, a name, or NAME+OFFSET."""
        if _WORD.match(text):
            name, plus, offset = text.partition("+")
            known = self._program.addresses
            if name not in known:
                self._fail(f"found unknown name '{name}'{suggestion(name, known)}")
            return known[name] + (self._number(offset) if plus else 0)
        return self._number(text)

    def _number(self, text: str) -> int:
        try:
            value = int(text, 0)
        except ValueError:
            value = -1
        if not 0 <= value < 1 << 64:
            self._fail(f"found '{text}', expected a number of 64 bits (decimal or 0x) or a name")
        return value

    def _count(self, kind: str, operands: list[str], count: int) -> None:
        if len(operands) != count:
            self._expected(kind)

    def _expected(self, kind: str) -> None:
        self._fail(f"found '{' '.join(self._words)}', expected '{_SYNTAX[kind]}'")

    def _fail(self, message: str) -> None:
        raise InputError(f"{self._program.name}:{self._line}: {message}")
