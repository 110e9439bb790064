"""Nothing that goes wrong opens the door: where a wall is in doubt no program is run.

Each test breaks one thing for real, in processes of its own, and looks whether a program was run.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tensor_anatomy.errors import SandboxUnavailable
from tensor_anatomy.execution import Pool, ZygoteClient
from tensor_anatomy.execution import zygote_client as client_module
from tensor_anatomy.profiles import REQUIRED_LAYERS, ProfileChoice
from tensor_anatomy.schema import TraceRequest
from tensor_anatomy.settings import Settings

from .test_confinement import confined
from .weakened import command, ready

LIMITS = Settings().limits
ALL = sorted(REQUIRED_LAYERS["strict"])
LEAVES_A_MARK = TraceRequest(source="import os\nos.write(1, b'it ran')\n")


async def refusal(weakness: str, profile: ProfileChoice = "strict") -> str:
    """Why nothing is run with this weakness; fails if something is."""
    async with Pool(LIMITS, zygote=ZygoteClient(profile, command=command(weakness))) as pool:
        assert pool.status().state == "unavailable", pool.status()
        for _ in range(2):
            with pytest.raises(SandboxUnavailable):
                await pool.run(LEAVES_A_MARK)
        assert pool.status().reason
        return pool.status().reason or ""


# -- the self-test ---------------------------------------------------------------------------------

EVERY_PROBE = """
from tensor_anatomy.confinement import probes
import tensor_anatomy.confinement as confinement
jail = confinement.build("strict", options["must_stay_readable"])
found = {}
for name, attempt in list(probes.PROBES.items()):
    for change in (lambda: None, lambda: 1 / 0, lambda: os._exit(0), lambda: os.close(3)):
        probes.PROBES[name] = change
        try:
            confinement.try_once(jail)
        except NotConfined as fault:
            found.setdefault(name, []).append(fault.layer == "trial" and name in str(fault))
        else:
            found.setdefault(name, []).append(False)
        probes.PROBES[name] = attempt
print(json.dumps(found))
sys.exit()
"""


def test_a_probe_that_succeeds_or_breaks_is_an_open_wall() -> None:
    found = confined(before=EVERY_PROBE)
    assert len(found) > 25
    assert {name: held for name, held in found.items() if held != [True] * 4} == {}


def test_a_32_bit_call_that_is_answered_is_an_open_wall() -> None:
    before = "from tensor_anatomy.confinement import probes; probes.call_as_i386 = lambda: False"
    answer = confined(before=before, trial=True)
    assert answer["not_confined"] == "trial"
    assert "32-bit" in answer["fault"]


def test_a_self_test_that_hangs_is_ended_and_nothing_runs() -> None:
    before = (
        "import time\nfrom tensor_anatomy.confinement import probes, trial\n"
        "probes.PROBES['trace'] = lambda: time.sleep(60)\n"
        "try_once = lambda jail: trial.try_once(jail, limit_s=0.5)"
    )
    answer = confined(before=before, trial=True)
    assert answer == {"not_confined": "trial", "fault": answer["fault"]}
    assert "in time" in answer["fault"]


@pytest.mark.parametrize("profile", ["strict", "sealed"])
def test_a_jail_that_lacks_a_layer_is_not_entered(profile: ProfileChoice) -> None:
    drop = (
        "from dataclasses import replace\n"
        "from tensor_anatomy.confinement import jail as j\n"
        "whole = build\n"
        "def build(*a):\n"
        "    made = whole(*a)\n"
        "    return replace(made, layers=tuple(l for l in made.layers if l.name != options['drop']))\n"
    )
    for layer in REQUIRED_LAYERS[profile]:
        assert confined("value = 'ran'", before=drop, drop=layer, profile=profile) == {"not_confined": layer}


def test_landlock_that_judges_nothing_is_no_landlock() -> None:
    for abi in (0, -1):
        before = f"from landlockpy import ruleset\nruleset._syscall.abi_version = lambda: {abi}"
        assert confined("value = 'ran'", before=before)["not_confined"] == "landlock"


# -- the server does not believe the zygote --------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["landlock", "seccomp", "rlimits"])
async def test_a_zygote_without_a_wall_that_says_it_has_it_is_found_out(layer: str) -> None:
    assert "the sandbox does not hold" in await refusal(f"without: {layer}")


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
async def test_a_zygote_tries_its_own_walls(layer: str) -> None:
    assert "a confined process could" in await refusal(f"untried: {layer}")


@pytest.mark.slow
@pytest.mark.parametrize("layer", ALL)
async def test_a_layer_that_fails_in_the_zygote_leaves_nothing_running(layer: str) -> None:
    assert layer in await refusal(f"failing: {layer}")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        *((ready(layers=[each for each in ALL if each != layer]), layer) for layer in ALL),
        (ready(profile="none"), "none"),
        (ready(profile="sealed"), "sealed"),
        (ready(profile="strict+bwrap"), "strict+bwrap"),
        (ready(profile="open"), "open"),
        (ready(profile=None), "None"),
        (ready(ready="no"), "does not start"),
        (ready(layers=None), "does not start"),
        ('{"ready": true}', "does not start"),
        ("[]", "does not start"),
        ("not json", "does not start"),
    ],
)
async def test_words_that_are_not_right_are_refused(said: str, words: str) -> None:
    assert words in await refusal(f"saying: {said}")


async def test_a_launcher_that_cannot_be_started_opens_nothing() -> None:
    async with Pool(LIMITS, zygote=ZygoteClient(command=["/nonexistent/python"])) as pool:
        assert "does not start" in (pool.status().reason or "")
        with pytest.raises(SandboxUnavailable):
            await pool.run(LEAVES_A_MARK)


async def test_a_zygote_that_says_the_right_words_and_does_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(*_: Any, **__: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(client_module, "prove", never)
    assert "does not start" in await refusal(f"saying: {ready()}")


@pytest.mark.slow
async def test_a_self_test_of_the_zygote_that_hangs_opens_nothing() -> None:
    assert "in time" in await refusal("hanging: ")


# -- choosing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "lacks", "words"),
    [
        ("auto", "libseccomp", "seccomp"),
        ("auto", "libseccomp+landlock", "sealed: "),
        ("strict", "landlock", "strict: "),
        ("sealed", "libseccomp", "sealed: "),
        ("strict+bwrap", "bubblewrap", "bwrap is not installed"),
        ("strict+bwrap", "namespaces", "strict+bwrap: "),
        ("auto", "python", "/nonexistent/python"),
    ],
)
async def test_what_a_machine_lacks_is_said_and_nothing_is_run(
    profile: ProfileChoice, lacks: str, words: str
) -> None:
    assert words in await refusal(f"launching without: {lacks}", profile)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lacks", "profile"),
    [("landlock+bubblewrap", "sealed"), ("bubblewrap", "strict"), ("namespaces", "strict")],
)
async def test_the_strongest_profile_that_holds_is_taken(lacks: str, profile: str) -> None:
    client = ZygoteClient(command=command(f"launching without: {lacks}"))
    async with Pool(LIMITS, zygote=client) as pool:
        assert (pool.status().state, pool.status().profile) == ("ready", profile)
        trace = await pool.run(TraceRequest(source="import torch\nx = torch.ones(2)\n"))
        assert trace.outcome.kind == "finished"


@pytest.mark.parametrize("profile", ["auto", "strict", "sealed", "none"])
async def test_where_there_is_no_linux_no_process_is_even_started(
    profile: ProfileChoice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    monkeypatch.setattr(sys, "platform", "darwin")
    client = ZygoteClient(profile, command=[sys.executable, "-c", f"open({str(mark)!r}, 'w')"])
    async with Pool(LIMITS, zygote=client) as pool:
        assert pool.status().state == "unavailable"
        assert "Linux" in (pool.status().reason or "")
        with pytest.raises(SandboxUnavailable):
            await pool.run(LEAVES_A_MARK)
    await asyncio.sleep(0)
    assert not mark.exists()


def test_no_profile_but_the_opt_outs_own_lacks_a_filter() -> None:
    lacking = [
        name for name, layers in REQUIRED_LAYERS.items() if not any("seccomp" in each for each in layers)
    ]
    assert lacking == ["none"]
    assert (
        json.dumps(sorted(REQUIRED_LAYERS["strict"] - REQUIRED_LAYERS["none"])) == '["landlock", "seccomp"]'
    )
