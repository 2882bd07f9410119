"""Every member of a class whose state is saved is in it, or is known to need no saving.

A member that is forgotten would be a restored memory that goes on a little differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hosts import ROOT

CORE = ROOT / "core"

# What the model alone determines, or what lies about between calls without a meaning.
NOT_SAVED = {
    "Memory": {"capacity_", "counters_", "counter_names_"},
    "Channel::Controller": {
        *("config_", "mapping_", "channel_index_", "log_", "powers_down_", "observed_", "plain_"),
        *("read_burst_", "write_burst_", "shortest_burst_", "rank_banks_", "energy_"),
        "reference_",  # the tests' mode, in which no host runs
    },
    "ControllerState": {"rules", "banks_in_rank", "closed_page"},
    "DeviceTiming": {
        *("standard_", "ranks_", "banks_", "rank_of_", "group_cell_", "gaps_", "window_gap_"),
        "rank_rules_",
    },
    # Its list is read by pushing requests in their order of age.
    "RequestQueue": {"capacity_", "end_", "free_", "entries_", "bank_ends_", "end_of_"},
    "Entry": {"older", "younger", "older_in_bank", "younger_in_bank"},
    "Selector": {"ranks_", "banks_of_rank_", "sides_"},  # sides by side()
    "WaitingPorts": {"hold_"},
    "WriteDrain": {"high_", "low_"},
    "DdrtChannel": {"config_", "replies_"},
    "NearDirectory": {"sets_", "ways_", "page_sets_", "policy_", "seed_"},
    "NearMemory": {
        *("config_", "cached_bytes_", "blocks_", "tag_lines_", "chain_shift_", "most_prefetches_"),
    },
    "Directory": {"seen_", "seed_"},
    "Link": {"config_", "always_at_once_", "takes_early_"},
    "Way": {"request_slots", "response_slots", "request_time", "response_time", "latency",
            "arrivals"},
    "Machine": {
        *("interleave_", "capacity_", "takes_early_", "dram_alone_", "dimm_alone_", "earlier_"),
    },
    "Tiers": {"near_bytes_"},
    "BlockTable": {"ways_", "mask_", "shift_", "policy_"},
    "Dimm": {
        *("config_", "geometry_", "ait_latency_", "table_"),
        *("line_power_", "dram_power_", "lazy_power_"),
        *("dram_sink_", "started_", "woken_", "notices_"),
    },
    "IndirectionBuffer": {"page_bytes_", "blocks_per_page_", "words_", "data_base_"},
    "LazyAdmission": {"config_", "wear_writes_", "block_"},
    "LazyCache": {"config_", "entry_", "lines_per_entry_"},
    "LoadStoreQueue": {"config_", "full_", "lines_per_block_"},
    "Media": {"config_", "page_", "block_", "accesses_per_block_", "read_power_", "write_power_"},
    "MiddleBuffer": {"entry_", "latency_", "sectors_per_entry_"},
    "PageReads": {"limit_"},
    "PointerTable": {
        *("page_", "frame_shift_", "tag_mask_", "slots_", "line_slots_", "base_"),
    },
    "Pretranslation": {"rlb_latency"},
    "PowerBudget": {"milliwatts_", "window_"},
    "WearLeveler": {"config_", "blocks_", "seed_"},
    "Outlet": {"memory_", "one_queue_"},
}  # fmt: skip

CLASS = re.compile(r"\b(?:class|struct) ([\w:]+)(?: final)?(?:\s*:[^{;]*)?\s*\{")
STATE = r"state\(Archive& archive[^)]*\)\s*(?:override\s*)?"
NO_MEMBER = re.compile(r"using|static|friend|enum|struct|class|template|explicit|constexpr|\[\[no")


def inside(text: str, start: int) -> str:
    """What stands between the brace that ends before `start` and its partner."""
    depth, at = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start : at - 1]


def outer(body: str) -> str:
    """The body with nothing between its braces."""
    depth, kept = 0, []
    for character in body:
        depth -= character == "}"
        if depth == 0:
            kept.append(character)
        depth += character == "{"
    return "".join(kept)


def members(body: str) -> list[str]:
    """The names of the data members that a class declares."""
    flat = re.sub(r"\b(?:public|private|protected):", "", outer(body))
    for _ in range(2):
        flat = re.sub(r"\([^()]*\)", "()", flat)
    found = []
    for statement in flat.split(";"):
        text = statement.strip()
        if "()" in text:  # functions before a member
            text = re.sub(r"^.*\}\s*(?=\w|$)", "", text, flags=re.DOTALL)
        if not text or "()" in text or NO_MEMBER.match(text):
            continue
        text = re.sub(r"=.*|\{\}|\[[^\]]*\]", "", text, flags=re.DOTALL)
        words = [part.split() for part in re.split(r",(?![^<]*>)", text) if part.split()]
        found += [part[-1].strip("*&") for part in words]
    return [name for name in found if re.fullmatch(r"\w+", name)]


def code(file: Path) -> str:
    return re.sub(r"//[^\n]*", "", file.read_text())


def state_of(header: Path, name: str, body: str) -> str | None:
    """The body of the class's `state`; None where it has none."""
    if not re.search(STATE, outer(body)):
        return None
    for match in re.finditer(rf"void {STATE}\{{", body):
        if body[: match.start()].count("{") == body[: match.start()].count("}"):
            return inside(body, match.end())
    for source in sorted(header.parent.glob("*.cpp")):
        text = code(source)
        found = re.search(rf"\b{name.split('::')[-1]}::{STATE}\{{", text)
        if found:
            return inside(text, found.end())
    raise AssertionError(f"{header}: {name}: no body of state()")


def classes() -> Iterator[tuple[str, str, list[str]]]:
    """Name, body of `state`, and members of each class that has both."""
    for room in ("base", "sim", "library"):
        for header in sorted((CORE / room).rglob("*.h")):
            text = code(header)
            for match in CLASS.finditer(text):
                body = inside(text, match.end())
                state = state_of(header, match.group(1), body)
                if state is not None:
                    yield match.group(1), state, members(body)


def forgotten(name: str, state: str, declared: list[str]) -> list[str]:
    known = NOT_SAVED.get(name, set())
    return [
        f"{name}::{member}"
        for member in declared
        if member not in known and not re.search(rf"\b{member}\b", state)
    ]


def test_every_member_is_saved_or_known_to_need_no_saving() -> None:
    found = list(classes())
    assert len(found) > 50
    assert [line for one in found for line in forgotten(*one)] == []


def test_a_forgotten_member_is_noticed() -> None:
    body = """
     public:
      int get() const { return one_; }
      void state(Archive& archive) { archive(one_); }

     private:
      struct Inner { int unseen; };
      int one_ = 0;
      std::vector<std::pair<int, int>> two_, three_{};
      Tick four_[2];
    """
    declared = members(body)
    assert declared == ["one_", "two_", "three_", "four_"]
    assert forgotten("A", " archive(one_); ", declared) == ["A::two_", "A::three_", "A::four_"]
