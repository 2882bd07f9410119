"""Structure from observations alone: pure functions, no device, no file, no name of a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nearfar.inference import buffers, hierarchy, interleave, migration, queues
from nearfar.inference.level import Structure
from nearfar.inference.orders import Spread
from nearfar.inference.study import Findings, Study, replay
from nearfar.results.findings import Finding, Observation

__all__ = ["STUDIES", "infer", "study"]

_Study = Callable[[Findings, Spread, Structure], Study[object]]

# The studies by the names of their probers, in the order in which they are made: each may build on
# what those before have found. A new one is a module beside this one, and a line here.
STUDIES: Mapping[str, _Study | None] = {
    interleave.PROBER: None,  # always: which addresses share a module, all others have to know
    buffers.PROBER: None,  # whenever another but that is asked for: they need the levels
    queues.PROBER: queues.study,
    migration.PROBER: migration.study,
}


def infer(observations: Sequence[Observation]) -> list[Finding]:
    """What follows from observations: the findings of every study that made some of them."""
    made = {observation.prober for observation in observations}
    return replay(study([name for name in STUDIES if name in made]), observations)


def study(probers: Sequence[str]) -> Study[list[Finding]]:
    """All studies of the named probers, one after the other."""
    found = Findings()
    known = yield from interleave.study(found)
    structure = Structure()
    if set(probers) - {interleave.PROBER}:
        structure = yield from buffers.study(found, known.spread)
        yield from hierarchy.study(found, known.spread, structure)
    for name, further in STUDIES.items():
        if further is not None and name in probers:
            yield from further(found, known.spread, structure)
    return found.all()
