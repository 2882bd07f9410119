"""Where a program's pages lie on a machine of two tiers: what `place` may be."""

from __future__ import annotations

from collections.abc import Mapping

from nearfar._lists import ORACLES, PLACEMENT_POLICIES
from nearfar._lists import POLICIES as REPLACEMENT_POLICIES
from nearfar.errors import InputError, check_one_of, suggestion

PLACES = ("near", "far", "interleave")


# The core's policies of each family, by the word that goes before their names in `place`. "cached":
# what leaves near memory as a cache of far pages. "flat": what two directly addressed tiers
# exchange. "oracle": bounds that see every access to memory.
POLICIES: Mapping[str, tuple[str, ...]] = {
    "cached": REPLACEMENT_POLICIES,
    "flat": PLACEMENT_POLICIES,
    "oracle": tuple(name.removeprefix("oracle:") for name in ORACLES),
}


def check_place(place: str) -> None:
    """Raise InputError for what is no place."""
    family, colon, name = place.partition(":")
    if colon and family in POLICIES:
        check_one_of(f"place: {family}", name, POLICIES[family])
    elif place not in PLACES:
        words = (*PLACES, *(f"{one}:NAME" for one in POLICIES))
        every = (*PLACES, *(f"{one}:{name}" for one, names in POLICIES.items() for name in names))
        hint = suggestion(place, every)
        raise InputError(f"place: found '{place}', expected one of {', '.join(words)}{hint}")
