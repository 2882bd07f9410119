"""A model: a value for every key of the machine, checked, immutable, with its sources."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from nearfar.errors import InputError
from nearfar.model.file import Given, unknown_key
from nearfar.model.key import Key, Plain, export_text
from nearfar.model.resolve import OVERRIDE_SOURCE, Resolved, resolve
from nearfar.model.schema import KEYS, canonical


@dataclass(frozen=True, eq=False)
class Model:
    """A machine to simulate. Made by `load`; changed only into a new one by `override`.

    `values` has every key of the schema that the machine has, in the schema's order.
    """

    name: str
    description: str
    given: Mapping[str, Given]
    alternatives: Mapping[str, str]
    values: Mapping[str, Resolved] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "given", MappingProxyType(dict(self.given)))
        object.__setattr__(self, "alternatives", MappingProxyType(dict(self.alternatives)))
        object.__setattr__(self, "values", MappingProxyType(resolve(self.given)))

    def __getitem__(self, key: str) -> Plain:
        """The value of `key`, aliases allowed, in base units. Raises InputError."""
        entry = self.values.get(canonical(key))
        if entry is None:
            raise InputError(f"{self.name}: {unknown_key(key)}")
        return entry.value

    def override(self, *settings: str | Mapping[str, object], **by_name: object) -> Model:
        """A new model with some keys changed: `"key=value"` texts, mappings or keywords.

        Values are written as in a model file: `override("imc.interleave=8 KiB")`,
        `override({"nvdimm.rmw.entries": 128}, channels=6)`. Raises InputError.
        """
        changes: dict[str, Given] = {}
        for setting in (*settings, by_name):
            if isinstance(setting, str):
                name, separator, text = setting.partition("=")
                if not separator:
                    raise InputError(f"{self.name}: found '{setting}', expected 'key=value'")
                self._change(changes, name.strip(), text.strip(), is_text=True)
            else:
                for name, value in setting.items():
                    self._change(changes, name, value, is_text=False)
        if not changes:
            return self
        spelt = ",".join(change.place for change in changes.values())
        layer = 1 + max((entry.layer for entry in self.given.values()), default=0)
        placed = {
            name: Given(change.value, f"{self.name},{change.place}", OVERRIDE_SOURCE, layer)
            for name, change in changes.items()
        }
        return Model(
            f"{self.name},{spelt}", self.description, {**self.given, **placed}, self.alternatives
        )

    def export(self) -> str:
        """`key = value` lines in base units, as the core reads them."""
        return "".join(
            f"{entry.key.exported_name} = {export_text(entry.value)}\n"
            for entry in self.values.values()
        )

    def export_file(self, version: str) -> str:
        """The export behind a line that names the model and the `version` of nearfar."""
        return f"# nearfar {version} {' '.join(self.name.split())}\n{self.export()}"

    def hash(self) -> str:
        """SHA-256 of the export: equal for models that simulate the same machine."""
        return hashlib.sha256(self.export().encode()).hexdigest()

    def tree(self) -> dict[str, Any]:
        """The values in base units as nested dicts, one level a dot."""
        root: dict[str, Any] = {}
        for name, entry in self.values.items():
            *above, last = name.split(".")
            table = root
            for part in above:
                table = table.setdefault(part, {})
            table[last] = entry.value
        return root

    def __reduce__(self) -> tuple[Any, ...]:
        # Mapping proxies do not pickle, and sweeps hand models to other processes.
        return Model, (self.name, self.description, dict(self.given), dict(self.alternatives))

    def _change(
        self, changes: dict[str, Given], name: str, value: object, *, is_text: bool
    ) -> None:
        key = KEYS.get(canonical(name))
        if key is None:
            raise InputError(f"{self.name}: {unknown_key(name)}")
        place = f"{name}={value if isinstance(value, str) else _plain_text(value)}"
        if key.name in changes:
            earlier = changes[key.name].place
            raise InputError(f"{self.name},{place}: found {name} twice, after '{earlier}'")
        changes[key.name] = Given(self._read(key, place, value, is_text), place)

    def _read(self, key: Key, place: str, value: object, is_text: bool) -> Plain:
        try:
            return key.read_text(str(value)) if is_text else key.read(value)
        except ValueError as error:
            raise InputError(f"{self.name},{place}: {error}") from None


def _plain_text(value: object) -> str:
    return export_text(value) if isinstance(value, (bool, int, float)) else str(value)
