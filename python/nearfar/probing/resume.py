"""Continuing a study: what was observed before is answered from the record, not played again."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference.orders import spread_of
from nearfar.inference.study import MissingError, Request, Study
from nearfar.results import Finding, Observation


def answered(study: Study[list[Finding]], seen: Sequence[Observation]) -> Study[list[Finding]]:
    """A study that only asks for what is not among the observations `seen`."""
    known = {_key(one): one for one in seen if one.pattern.get("kind") == "sequence"}
    try:
        request = next(study)
        while True:
            answer = known.get(request.key())
            if answer is None:
                try:
                    answer = yield request
                except MissingError:
                    request = study.throw(MissingError())
                    continue
            request = study.send(answer)
    except StopIteration as end:
        found: list[Finding] = end.value
        return found


def _key(one: Observation) -> str:
    """That of the request that the observation answered: how much was done is no part of it."""
    order = one.pattern["order"]
    effort = one.pattern.get("effort", ())
    asked = {name: value for name, value in order["params"].items() if name not in effort}
    return Request(one.prober, order["kind"], asked, {}, spread_of(one.pattern)).key()
