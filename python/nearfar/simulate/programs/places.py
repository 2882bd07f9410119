"""Where a program's pages lie on a machine of two tiers: what `place` may be."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from nearfar.errors import InputError, check_one_of, suggestion

PLACES = ("near", "far", "interleave")


@functools.cache
def policies() -> Mapping[str, tuple[str, ...]]:
    """The core's policies of each family, by the word that goes before their names in `place`.

    "cached": what leaves near memory as a cache of far pages. "flat": what two directly addressed
    tiers exchange. "oracle": bounds that see every access to memory.
    """
    from nearfar._core import oracles, placement_policies, replacement_policies

    return {
        "cached": tuple(replacement_policies()),
        "flat": tuple(placement_policies()),
        "oracle": tuple(name.removeprefix("oracle:") for name in oracles()),
    }


def check_place(place: str) -> None:
    """Raise InputError for what is no place."""
    family, colon, name = place.partition(":")
    if colon and family in policies():
        check_one_of(f"place: {family}", name, policies()[family])
    elif place not in PLACES:
        words = (*PLACES, *(f"{one}:NAME" for one in policies()))
        every = (*PLACES, *(f"{one}:{name}" for one, names in policies().items() for name in names))
        hint = suggestion(place, every)
        raise InputError(f"place: found '{place}', expected one of {', '.join(words)}{hint}")
