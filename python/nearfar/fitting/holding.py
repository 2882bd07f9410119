"""Whole series held out of a fit: points of one curve would tell each other's values.

Series read from the same runs (stores and loads of one walk, rates and amplification of one stream)
tell each other's values, too: they are held out together, as a group.
"""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.errors import InputError, check_one_of
from nearfar.simulate.validation.series import Series

_FEWEST = 2  # groups, one to fit to and one to hold out


def split(series: Sequence[Series], hold_out: Sequence[str]) -> tuple[list[Series], list[Series]]:
    """The series to fit to, and those held out: by their name or their dataset's, or a share such
    as "25%".

    A share takes so many of the groups, evenly in the order of their names. What shares runs with
    a series that is named is held out, too. Raises InputError.
    """
    if not hold_out:
        return list(series), []
    groups = grouped(series)
    shares = [text for text in hold_out if text.endswith("%")]
    if shares:
        if len(hold_out) > 1:
            raise InputError(f"hold-out: found {','.join(hold_out)}, expected names or one share")
        chosen = _share(shares[0], groups)
    else:
        names = [one.name for one in series]
        datasets = list(dict.fromkeys(one.dataset for one in series))
        for name in hold_out:
            if name not in datasets:
                check_one_of("hold-out", name, names)
        named = {one.name for one in series if {one.name, one.dataset} & set(hold_out)}
        chosen = {one.name for group in groups for one in group if named & _names(group)}
    trained = [one for one in series if one.name not in chosen]
    if not trained:
        raise InputError(
            "hold-out: found every series (those read from the same runs go together), expected "
            "some that are left to fit to"
        )
    return trained, [one for one in series if one.name in chosen]


def folds(series: Sequence[Series], count: int) -> list[tuple[list[Series], list[Series]]]:
    """The series split `count` times, each of them held out once. Raises InputError."""
    groups = grouped(series)
    if not _FEWEST <= count <= len(groups):
        raise InputError(
            f"folds: found {count}, expected {_FEWEST} to {len(groups)}: there are {len(groups)} "
            "series that share no run with another"
        )
    made = []
    for place in range(count):
        held = {one.name for group in groups[place::count] for one in group}
        trained = [one for one in series if one.name not in held]
        made.append((trained, [one for one in series if one.name in held]))
    return made


def grouped(series: Sequence[Series]) -> list[list[Series]]:
    """The series in groups that share no run with another, in the order of their first names."""
    groups: list[list[Series]] = []
    for one in sorted(series, key=lambda one: one.name):
        jobs = _jobs([one])
        touched = [group for group in groups if jobs & _jobs(group)]
        groups = [group for group in groups if group not in touched]
        groups.append([*(member for group in touched for member in group), one])
    return sorted(groups, key=lambda group: group[0].name)


def _jobs(group: Sequence[Series]) -> set[object]:
    return {job for one in group for point in one.points for job in point.jobs}


def _names(group: Sequence[Series]) -> set[str]:
    return {one.name for one in group}


def _share(text: str, groups: Sequence[Sequence[Series]]) -> set[str]:
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise InputError(f"hold-out: found '{text}', expected a share such as 25%")
    if len(groups) < _FEWEST:
        raise InputError(
            f"hold-out: found {len(groups)} series that share no run with another, expected 2 or "
            "more to hold one out"
        )
    wanted = min(len(groups) - 1, max(1, round(share * len(groups))))
    places = {(2 * i + 1) * len(groups) // (2 * wanted) for i in range(wanted)}
    return {one.name for place in places for one in groups[place]}
