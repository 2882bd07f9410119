"""The user's predicate over crash images: finding it, calling it, and what its answers mean."""

from __future__ import annotations

import importlib.util
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Protocol

from nearfar.errors import InputError, suggestion

DEFAULT = "check"


class CrashImage(Protocol):
    """What memory holds after a crash. `place` is an address, "NAME" or "NAME+OFFSET"."""

    def u64(self, place: int | str) -> int:
        """The 8-byte word at a multiple of 8, little-endian."""

    def bytes(self, place: int | str, count: int) -> bytes:
        """`count` bytes."""

    def survived(self, line: int) -> bool:
        """Whether all that a line of the program, or a record of a trace, stores is there, if only
        under later stores.
        """

    def passed(self, label: str) -> bool:
        """Whether the world had seen the label when the power failed."""


Predicate = Callable[[CrashImage], object]


class Invariant:
    """Asks the predicate, and puts what it answers or raises into words."""

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate
        code = getattr(predicate, "__code__", None)
        self._file = code.co_filename if code is not None else ""
        self._name = getattr(predicate, "__name__", "check")

    def broken(self, image: CrashImage) -> str | None:
        """Why the image breaks the invariant; None when it does not.

        Raises InputError when the predicate fails to say.
        """
        try:
            answer = self._predicate(image)
        except AssertionError as error:
            return str(error) or f"{self._where(error)}: assertion fails"
        except Exception as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"{self._where(error)}: {self._name}(image) raised {what}") from None
        if answer is True:
            return None
        if answer is False:
            return f"{self._name} is false"
        if isinstance(answer, str) and answer:
            return answer
        raise InputError(
            f"{self._file}: {self._name}(image) returned {answer!r}, "
            "expected True, False, or a reason as text"
        )

    def _where(self, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == self._file] or frames[-1:]
        return f"{own[-1].filename}:{own[-1].lineno}"


def load_invariant(spec: str) -> Invariant:
    """The function of "FILE.py" or "FILE.py:FUNCTION". Raises InputError."""
    file, _, name = spec.rpartition(":")
    if not file or not name.isidentifier():
        file, name = spec, DEFAULT
    module = _module(file)
    function = getattr(module, name, None)
    if not callable(function):
        functions = [key for key, value in vars(module).items() if callable(value)]
        hint = suggestion(name, functions)
        raise InputError(f"{file}: found no function '{name}' in it{hint}")
    return Invariant(function)


def _module(file: str) -> ModuleType:
    if not Path(file).is_file():
        raise InputError(f"{file}: no such file")
    spec = importlib.util.spec_from_file_location("nearfar_invariant", file)
    if spec is None or spec.loader is None:
        raise InputError(f"{file}: is not a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{file}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{file}:{line}: {what}") from None
    return module
