"""Structure from observations alone: pure functions, no device, no file, no name of a target."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.inference import buffers, hierarchy, interleave, migration, queues
from nearfar.inference.level import Structure
from nearfar.inference.study import Findings, Study, replay
from nearfar.results.findings import Finding, Observation

__all__ = ["PROBERS", "infer", "study"]

# In the order in which they are made: each may build on what those before have found.
PROBERS = (interleave.PROBER, buffers.PROBER, queues.PROBER, migration.PROBER)


def infer(observations: Sequence[Observation]) -> list[Finding]:
    """What follows from observations: the findings of every prober that made some of them."""
    made = {observation.prober for observation in observations}
    return replay(study([name for name in PROBERS if name in made]), observations)


def study(probers: Sequence[str]) -> Study[list[Finding]]:
    """All studies of the named probers, one after the other."""
    found = Findings()
    # Without knowing which addresses share a module, nothing else could be told.
    known = yield from interleave.study(found)
    structure = Structure()
    if set(probers) & {buffers.PROBER, queues.PROBER, migration.PROBER}:
        structure = yield from buffers.study(found, known.spread)
        yield from hierarchy.study(found, known.spread, structure)
    if queues.PROBER in probers:
        yield from queues.study(found, known.spread, structure)
    if migration.PROBER in probers:
        yield from migration.study(found, known.spread, structure)
    return found.all()
