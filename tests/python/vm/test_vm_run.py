"""`nearfar vm run`: machines whose guests' memory is on two tiers."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Run
from guests import MIB, QEMU, expected_sum, holder, machine, needs_machines, started, vm_run
from nearfar.vm.machines import running_machines
from nearfar.vm.monitor import is_managed, monitored
from nearfar.vm.qmp import connected

DIMM, PART = 128 * MIB, 32 * MIB
HELD = 24 * MIB  # by the guest, of its 64 MiB


Vm = Callable[..., dict[str, Any]]


def until(holds: Callable[[], bool]) -> None:
    """Ask again and again until it does."""
    while not holds():
        os.sched_yield()


@needs_machines
@pytest.mark.parametrize("far", ["FILE", "compressed"])
def test_a_guest_computes_the_same_with_a_tenth_of_its_memory_near_and_the_limit_holds(
    tmp_path: Path, far: str
) -> None:
    place, result = str(tmp_path / "far") if far == "FILE" else far, tmp_path / "run.json"
    options = ("--near", "10%", "--far", place, "--json", result)
    with started(vm_run(*options, qemu=machine(holder(tmp_path)))) as guest:
        guest.begun()
        assert [guest.sum(), guest.sum()] == [expected_sum(0), expected_sum(1)]
        status, err = guest.end()
    assert status == 0
    assert err.startswith("nearfar vm: near 6.4 MiB at most")
    ran = json.loads(result.read_text())
    assert ran["near_peak_bytes"] <= ran["near_limit_bytes"] == 64 * MIB // 10 // 4096 * 4096
    assert ran["over_budget"] == 0
    assert ran["copies_in"] >= 2 * (HELD - ran["near_limit_bytes"]) // 4096
    # The guest's memory, and none of QEMU's.
    assert HELD <= ran["managed_peak_bytes"] <= 64 * MIB
    assert ran["unmanaged_peak_bytes"] > MIB
    assert not (tmp_path / "far").exists()


@needs_machines
def test_a_machine_that_runs_is_looked_at_and_given_another_share(tmp_path: Path, vm: Vm) -> None:
    qemu = [*machine(holder(tmp_path)), "-name", "web"]
    with started(vm_run("--near", "50%", "--far", tmp_path / "far", qemu=qemu)) as guest:
        guest.begun()
        stats = vm("stats", "web")
        assert (stats["name"], stats["state"], stats["guest_bytes"]) == ("web", "running", 64 * MIB)
        assert stats["near_limit_bytes"] == 32 * MIB
        assert stats["near_bytes"] + stats["far_bytes"] >= HELD
        less = vm("set", "--near", "5%", "web")
        assert less["near_bytes"] <= less["near_limit_bytes"] == 64 * MIB // 20 // 4096 * 4096
        assert guest.sum() == expected_sum(0)
        after = vm("stats", "web")
        assert after["near_bytes"] <= less["near_limit_bytes"]
        assert after["copies_in"] > less["copies_in"]
        assert after["faults"] > less["faults"]
        assert vm("set", "--near", "64MiB", str(stats["qemu"]))["near_limit_bytes"] == 64 * MIB
        assert [one["name"] for one in vm("stats")["machines"]] == ["web"]
        assert guest.sum() == expected_sum(1)
        assert guest.end()[0] == 0


@needs_machines
def test_the_table_of_machines_has_a_line_for_each(tmp_path: Path, nearfar: Run) -> None:
    qemu = [*machine(holder(tmp_path)), "-name", "web"]
    with started(vm_run("--near", "10%", "--far", "anonymous", qemu=qemu)) as guest:
        guest.begun()
        status, out, err = nearfar("vm", "top", "--once", "--interval", "50ms")
        assert (status, err) == (0, "")
        head, row = (line.split() for line in out.splitlines())
        told = dict(zip(head, row, strict=True))
        assert told["NAME"] == "web"
        assert (told["GUEST"], told["LIMIT"]) == ("64.0", "6.4")
        assert float(told["NEAR"]) + float(told["FAR"]) >= HELD / MIB
        guest.end()
    assert nearfar("vm", "top", "--once") == (0, "no machine of this user runs on two tiers\n", "")


@needs_machines
def test_a_machine_without_a_name_gets_one_that_qemu_knows_too(tmp_path: Path, vm: Vm) -> None:
    words = vm_run("--near", "10%", "--far", "anonymous", qemu=machine(holder(tmp_path)))
    with started(words) as guest:
        guest.begun()
        name = f"vm-{guest.process.pid}"
        assert vm("stats", name)["name"] == name
        with connected(str(tmp_path / "nearfar" / f"{guest.process.pid}.qmp")) as qmp:
            assert qmp.ask("query-name") == {"name": name}
        guest.end()
    assert list((tmp_path / "nearfar").iterdir()) == []


@needs_machines
def test_a_second_machine_of_one_name_is_refused_in_one_line(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    qemu = [*machine(holder(tmp_path)), "-name", "web"]
    with started(vm_run("--near", "10%", "--far", "anonymous", qemu=qemu)) as guest:
        guest.begun()
        told = refused("vm", "run", "--near", "10%", "--far", "anonymous", "--", *qemu)
        assert told.startswith("-name web: process ")
        assert "expected another name" in told
        assert "expected one of web" in refused("vm", "set", "--near", "5%", "wed")
        guest.end()
    assert "no machine of this user" in refused("vm", "stats", "web")


@needs_machines
def test_a_machine_that_runs_already_is_refused_with_the_reason(
    tmp_path: Path, refused: Callable[..., str]
) -> None:
    attach = ("vm", "attach", "--near", "10%", "--far", "anonymous")
    words = machine(holder(tmp_path))
    with started([*words, "-name", "plain"]) as guest:
        guest.begun()
        assert "plain: QEMU (process " in refused(*attach, "plain")
        assert "was started without QMP" in refused(*attach, str(guest.process.pid))
        assert refused(*attach, "plane").endswith("did you mean plain?")
        guest.end()
    socket = f"unix:{tmp_path / 'q'},server=on,wait=off"
    with started([*words, "-name", "talks", "-qmp", socket]) as guest:
        guest.begun()
        assert "was started without nearfar's library" in refused(*attach, "talks")
        guest.end()
    with started(vm_run("--near", "10%", "--far", "anonymous", qemu=[*words, "-name", "web"])) as g:
        g.begun()
        told = refused(*attach, "web")
        assert told.startswith(f"web: process {g.process.pid} manages its memory already")
        g.end()


@needs_machines
def test_memory_that_the_words_do_not_name_ends_the_machine_in_one_line(
    tmp_path: Path,
) -> None:
    settings = tmp_path / "machine.conf"
    settings.write_text('[object "m"]\n  qom-type = "memory-backend-memfd"\n  size = "32M"\n')
    qemu = [*machine(holder(tmp_path)), "-name", "web", "-readconfig", str(settings)]
    words = vm_run("--near", "10%", "--far", "anonymous", "--quiet", qemu=qemu)
    with started(words) as guest:
        _, err = guest.process.communicate()
        assert guest.process.returncode == 2
    assert err.count("\n") == 1
    assert "nearfar: web: the machine's memory m is shared with other processes" in err


@needs_machines
def test_a_machine_whose_manager_was_killed_runs_on_and_can_be_managed(
    tmp_path: Path, vm: Vm
) -> None:
    qemu = [*machine(holder(tmp_path)), "-name", "web"]
    with started(vm_run("--near", "10%", "--far", tmp_path / "far", qemu=qemu)) as guest:
        guest.begun()
        process = vm("stats", "web")["qemu"]
        try:
            guest.process.send_signal(signal.SIGKILL)
            guest.process.wait()
            assert guest.sum() == expected_sum(0)
            stats = vm("set", "--near", "5%", "web")
            assert stats["near_bytes"] <= stats["near_limit_bytes"] < 4 * MIB
            assert stats["state"] == "running"
            assert guest.sum() == expected_sum(1)
            guest.tell("q")
            guest.process.communicate()  # which ends with the last of it that is open
            left = tmp_path / "nearfar" / f"{guest.process.pid}.qmp"
            assert left.exists()

            def is_removed() -> bool:
                with monitored():
                    return not left.exists()

            until(is_removed)  # as soon as QEMU has ended
        finally:
            if (
                Path(f"/proc/{process}").exists()
                and QEMU[:15] in Path(f"/proc/{process}/comm").read_text()
            ):
                os.kill(process, signal.SIGKILL)


@needs_machines
def test_a_machine_that_is_started_with_the_lines_for_libvirt_is_found_and_given_another_share(
    tmp_path: Path, vm: Vm, nearfar: Run
) -> None:
    domain = tmp_path / "web.xml"
    domain.write_text("<domain><name>web</name><memory unit='MiB'>64</memory></domain>")
    lines = nearfar("vm", "xml", "--near", "10%", "--far", tmp_path / "far", domain)[1]
    set_by_them = {one.attrib["name"]: one.attrib["value"] for one in ElementTree.fromstring(lines)}
    words = [*machine(holder(tmp_path)), "-name", "guest=web,debug-threads=on"]
    with started(words, {**os.environ, **set_by_them}) as guest:
        guest.begun()
        stats = vm("stats", "web")
        assert (stats["state"], stats["unmanaged_guest_bytes"]) == ("unknown", None)
        assert stats["near_bytes"] <= stats["near_limit_bytes"] == 6 * MIB
        assert HELD <= stats["managed_bytes"] <= 64 * MIB
        assert vm("set", "--near", "5%", "web")["near_bytes"] <= 64 * MIB // 20
        assert guest.sum() == expected_sum(0)
        assert guest.end()[0] == 0


@needs_machines
def test_a_snapshot_is_saved_and_loaded_with_a_tenth_of_the_memory_near(tmp_path: Path) -> None:
    words = vm_run("--near", "10%", "--far", "anonymous", qemu=machine(holder(tmp_path)))
    with started(words) as guest:
        guest.begun()
        with connected(str(tmp_path / "nearfar" / f"{guest.process.pid}.qmp")) as qmp:
            assert qmp.told("savevm before") == ""
            assert guest.sum() == expected_sum(0)
            assert qmp.told("loadvm before") == ""
            assert [guest.sum(), guest.sum()] == [expected_sum(0), expected_sum(1)]
        guest.end()


@needs_machines
def test_a_machine_migrates_to_another_with_a_twentieth_of_its_memory_near(
    tmp_path: Path,
) -> None:
    state, words = tmp_path / "state", machine(holder(tmp_path))
    run = ("--near", "10%", "--far", "anonymous", "--quiet")
    with started(vm_run(*run, qemu=[*words, "-name", "here"])) as guest:
        guest.begun()
        assert guest.sum() == expected_sum(0)
        with connected(str(tmp_path / "nearfar" / f"{guest.process.pid}.qmp")) as qmp:
            # Whole only when it has its name: QEMU is ready before the other program is.
            qmp.ask("migrate", uri=f"exec:cat > {state}.part && mv {state}.part {state}")
            until(lambda: qmp.ask("query-migrate").get("status") == "completed")
            until(state.exists)
            qmp.ask("quit")
        guest.process.communicate()
    run = ("--near", "5%", "--far", "anonymous", "--quiet")
    incoming = [*words, "-name", "there", "-incoming", f"exec:cat {state}"]
    with started(vm_run(*run, qemu=incoming)) as guest:
        until(lambda: [vm.stats()["state"] for vm in running_machines()] == ["running"])
        assert [guest.sum(), guest.sum()] == [expected_sum(1), expected_sum(2)]
        assert guest.end()[0] == 0


@needs_machines
def test_memory_that_is_plugged_in_is_managed_in_whole_blocks_and_named_otherwise(
    tmp_path: Path, vm: Vm
) -> None:
    words = machine(holder(tmp_path))
    words[words.index("64M")] = "64M,slots=2,maxmem=1G"
    words += ["-device", "virtio-balloon", "-name", "web"]
    with started(vm_run("--near", "10%", "--far", "anonymous", qemu=words)) as guest:
        guest.begun()
        process = vm("stats", "web")["qemu"]
        for size, outside in ((DIMM, 0), (PART, PART)):
            with connected(str(tmp_path / "nearfar" / f"{guest.process.pid}.qmp")) as qmp:
                new = {"qom-type": "memory-backend-ram", "id": f"m{size}", "size": size}
                qmp.ask("object-add", **new)
                qmp.ask("device_add", driver="pc-dimm", id=f"d{size}", memdev=f"m{size}")
                dimms = qmp.ask("query-memory-devices")
                (place,) = (d["data"]["addr"] for d in dimms if d["data"]["size"] == size)
                at = int(qmp.told(f"gpa2hva {place:#x}").split()[-1], 16)
                assert is_managed(process, at) == (outside == 0)
                qmp.ask("balloon", value=32 * MIB)
            assert vm("stats", "web")["unmanaged_guest_bytes"] == outside
        stats = vm("stats", "web")
        assert stats["plugged_bytes"] == DIMM + PART
        assert stats["near_bytes"] <= stats["near_limit_bytes"]
        assert guest.sum() == expected_sum(0)
        assert guest.end()[0] == 0
