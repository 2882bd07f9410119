"""What crashes can leave, as text."""

from __future__ import annotations

from nearfar.results.crashed import Crashed, Explored, Violation

_SHOWN = 5  # violations


def crash_text(crashed: Crashed) -> str:
    """How many states there are, how many break the invariant, and an example for each reason."""
    program = crashed.program
    head = (
        f"{crashed.target.spec}: {program['file']}, {program['operations']} operations, "
        f"{_count(program['threads'], 'thread')}, {crashed.domain.upper()}\n"
    )
    return head + _explored("allowed by x86", crashed.architecture)


def _explored(title: str, explored: Explored) -> str:
    how = "" if explored.exhaustive else " drawn at random: not exhaustive"
    if explored.combinations is not None and not explored.exhaustive:
        how += f", of {explored.combinations:.3g} combinations"
    lines = [f"{title}: {explored.states} states{how}; {explored.violating} break the invariant\n"]
    if explored.stuck is not None:
        lines.append(f"nothing gets past {explored.stuck}\n")
    lines += [_violation(violation) for violation in explored.violations[:_SHOWN]]
    left_out = len(explored.violations) - _SHOWN
    if left_out > 0:
        lines.append(f"\nand {left_out} more reasons; --json has them all\n")
    return "".join(lines)


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
