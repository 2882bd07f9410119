"""Whole series held out of a fit: points of one curve would tell each other's values."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.errors import InputError, check_one_of
from nearfar.simulate.validation.series import Series

_FEWEST = 2  # series, one to fit to and one to hold out


def split(series: Sequence[Series], hold_out: Sequence[str]) -> tuple[list[Series], list[Series]]:
    """The series to fit to, and those held out: by name, or a share such as "25%".

    A share takes every so-manieth series, in the order of their names. Raises InputError.
    """
    if not hold_out:
        return list(series), []
    names = [one.name for one in series]
    shares = [text for text in hold_out if text.endswith("%")]
    if shares:
        if len(hold_out) > 1:
            raise InputError(f"hold-out: found {','.join(hold_out)}, expected names or one share")
        chosen = _share(shares[0], names)
    else:
        for name in hold_out:
            check_one_of("hold-out", name, names)
        chosen = set(hold_out)
    trained = [one for one in series if one.name not in chosen]
    if not trained:
        raise InputError("hold-out: found every series, expected some that are left to fit to")
    return trained, [one for one in series if one.name in chosen]


def _share(text: str, names: Sequence[str]) -> set[str]:
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise InputError(f"hold-out: found '{text}', expected a share such as 25%")
    if len(names) < _FEWEST:
        raise InputError(f"hold-out: found {len(names)} series, expected 2 or more to hold one out")
    wanted = min(len(names) - 1, max(1, round(share * len(names))))
    ordered = sorted(names)
    return {ordered[(2 * i + 1) * len(ordered) // (2 * wanted)] for i in range(wanted)}
