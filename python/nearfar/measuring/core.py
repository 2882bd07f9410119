"""What measuring needs of the simulated machine; `nearfar._core` has it.

Written as protocols so that tests can stand something simpler in its place, and so that
nothing is loaded before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast


class Struct(Protocol):
    """A struct of the core, made from its fields by keyword."""

    def __call__(self, **values: Any) -> Any: ...
    def fields(self) -> Sequence[str]:
        """The names of its fields."""
        ...


class Core(Protocol):
    """Plays a pattern on a model; see `_core.pyi` for units and errors."""

    @property
    def ChasePattern(self) -> Struct: ...  # noqa: N802 (a class of the core)
    @property
    def OverwritePattern(self) -> Struct: ...  # noqa: N802
    @property
    def StreamPattern(self) -> Struct: ...  # noqa: N802
    @property
    def ContentionPattern(self) -> Struct: ...  # noqa: N802
    @property
    def LoadedPattern(self) -> Struct: ...  # noqa: N802
    def measure(self, settings: str, pattern: Any, *, seed: int) -> Sequence[Mapping[str, Any]]: ...


def filled(struct: Struct, pattern: object, **point: Any) -> Any:
    """A `struct` with the values of one point, and for its other fields those that `pattern` has
    by the same names.

    So an option that a pattern and a struct of the core both have needs no word here.
    """
    values = {name: getattr(pattern, name, None) for name in struct.fields()}
    given = {name: value for name, value in values.items() if value is not None}
    return struct(**{**given, **point})


def load_core() -> Core:
    """The extension module, loaded when something is about to run."""
    from nearfar import _core

    return cast(Core, _core)
