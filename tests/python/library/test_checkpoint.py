"""A restored memory goes on, bit for bit, as the one that was saved; nothing else is restored."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import nearfar
from hosts import Seen, Stream, stream
from nearfar import InputError, Machine
from nearfar.model.random.dimm import random_model
from nearfar.model.random.near import random_near_model

PRESETS = [
    "ddr4-2666", "ddr5-4800", "optane-100", "optane-100,channels=6,imc.interleave=4KiB",
    "optane-memory-mode", "cxl-expander", "cxl-hybrid", "optane-tiered",
    "optane-100-remote", "optane-100,nvdimm.wear.writes=40,nvdimm.wear.block=4KiB",
]  # fmt: skip


class Player:
    """A host that keeps its own place in a stream, and moves to another machine with it."""

    def __init__(self, machine: Machine, requests: Stream) -> None:
        self.machine = machine
        self.requests = requests
        self.sent = 0
        self.accepted: list[int] = []
        self.done = [0] * len(requests.addresses)

    def move_to(self, machine: Machine) -> Player:
        moved = Player(machine, self.requests)
        moved.sent, moved.accepted, moved.done = self.sent, [*self.accepted], [*self.done]
        return moved

    def step(self) -> bool:
        self.machine.advance()
        woken = False
        for come in self.machine.completions():
            if come["kind"] == Machine.WAKE:
                woken = True
            else:
                self.done[come["id"]] = int(come["time_ps"])
        return woken

    def play(self, count: int) -> None:
        requests = self.requests
        for i in range(self.sent, count):
            now = max(requests.times_ps[i], self.machine.now_ps)
            sending = {"write": requests.writes[i], "id": i}
            while not self.machine.send(requests.addresses[i], time_ps=now, **sending):
                while not self.step():
                    pass
                now = self.machine.now_ps
            self.accepted.append(self.machine.now_ps)
        self.sent = count

    def finish(self) -> Seen:
        self.play(len(self.requests.addresses))
        while self.machine.unfinished:
            self.step()
        times = list(zip(self.accepted, self.done, strict=True))
        return Seen(times, self.machine.counters())


def goes_on_where_it_was_saved(make: Callable[[], Machine], requests: Stream) -> None:
    uninterrupted = Player(make(), requests).finish()
    player = Player(make(), requests)
    in_flight = []
    for stop in range(200, len(requests.addresses), 450):  # in bursts, and in pauses between them
        player.play(stop)
        saved = player.machine.save()
        in_flight.append(player.machine.unfinished)
        player = player.move_to(make())
        player.machine.restore(saved)
        assert player.machine.save() == saved
    assert player.finish() == uninterrupted
    assert max(in_flight) > 0


@pytest.mark.parametrize("target", PRESETS)
def test_a_machine_restored_with_requests_in_flight_goes_on_bit_for_bit(target: str) -> None:
    goes_on_where_it_was_saved(lambda: Machine(f"model:{target}"), stream(len(target)))


@pytest.mark.parametrize("seed", range(12))
def test_random_machines_restored_with_requests_in_flight_go_on_bit_for_bit(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make = random_model if seed % 2 == 0 else random_near_model
    file = tmp_path_factory.mktemp("random") / "random.toml"
    file.write_text(make(seed))
    model = nearfar.load_model(str(file))
    goes_on_where_it_was_saved(lambda: Machine(model), stream(seed, 1000))


def test_a_machine_restored_long_after_its_last_request_has_refreshed_as_often() -> None:
    first, second = Machine("model:ddr4-2666"), Machine("model:ddr4-2666")
    first.play([0, 64, 128])
    first.advance(first.now_ps + 10**9)
    second.restore(first.save())
    for machine in (first, second):
        machine.advance(machine.now_ps + 10**9)
    assert second.counters() == first.counters()
    assert first.counters()["channel.0.dram.refreshes"] > 200


def test_what_no_machine_of_the_model_saved_is_refused_and_changes_nothing() -> None:
    machine = Machine("model:ddr4-2666")
    machine.play([0, 64, 128])
    saved, other = machine.save(), Machine("model:ddr4-2400").save()
    version = nearfar.__version__.encode()
    for given, message in [
        (b"", "begins otherwise than a saved state"),
        (saved[:-1], "is damaged: its checksum does not fit"),
        (saved[:300] + bytes([saved[300] ^ 1]) + saved[301:], "is damaged"),
        (other, "was saved of the model sha256:"),
        (saved.replace(version, b"0.0.1", 1), "was saved by nearfar 0.0.1, expected"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            machine.restore(given)
        assert machine.save() == saved
