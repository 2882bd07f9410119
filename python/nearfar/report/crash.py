"""What crashes can leave, as text."""

from __future__ import annotations

from nearfar.results.crash import CrashResult, Explored, Violation

_SHOWN = 5  # violations


def crash_text(crashed: CrashResult) -> str:
    """How many states there are, how many break the invariant, and an example for each reason."""
    program = crashed.program
    head = (
        f"{crashed.target.spec}: {program['file']}, {program['operations']} operations, "
        f"{_count(program['threads'], 'thread')}, {crashed.domain.upper()}\n"
    )
    return head + _allowed(crashed.architecture) + _met(crashed)


def _allowed(explored: Explored) -> str:
    how = "" if explored.exhaustive else f" {states_text(explored)}"
    lines = [f"allowed by x86: {explored.states} states{how}; {_broken(explored)}\n"]
    if explored.stuck is not None:
        lines.append(f"nothing gets past {explored.stuck}\n")
    lines += [_violation(violation) for violation in explored.violations[:_SHOWN]]
    left_out = len(explored.violations) - _SHOWN
    if left_out > 0:
        lines.append(f"\nand {left_out} more reasons; --json has them all\n")
    return "".join(lines)


def states_text(explored: Explored) -> str:
    """Whether these are all the states that there are."""
    if explored.exhaustive:
        return "every state that there is was looked at"
    of = f", of {explored.combinations:.3g} combinations" if explored.combinations else ""
    return f"drawn at random: not exhaustive{of}"


def _met(crashed: CrashResult) -> str:
    """The machine's states are among those allowed, so their number says enough."""
    states, runs = _count(crashed.machine.states, "state"), _count(crashed.runs, "run")
    after = "\n" if crashed.architecture.violations else ""
    return f"{after}met in {runs} of the machine: {states}; {_broken(crashed.machine)}\n"


def _broken(explored: Explored) -> str:
    verb = "breaks" if explored.violating == 1 else "break"
    return f"{explored.violating} {verb} the invariant"


def _violation(violation: Violation) -> str:
    seen = ", ".join(violation.passed) or "none"
    lines = [
        f"\n{violation.reason} ({_count(violation.states, 'state')})\n",
        f"  labels passed    {seen}\n",
        *_stores("lost", violation.lost),
        *_stores("persisted later", violation.persisted),
    ]
    return "".join(lines)


def _stores(title: str, stores: object) -> list[str]:
    assert isinstance(stores, (list, tuple))
    return [f"  {title if i == 0 else '':15}  {store}\n" for i, store in enumerate(stores)]


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
