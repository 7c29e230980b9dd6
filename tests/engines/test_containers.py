"""Engines in images: reached from this machine only, checkpoints read-only, no host network."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from specdock.engines import ADAPTERS
from specdock.engines.contained import InContainer
from specdock.engines.contract import Placed
from specdock.environments.build import build
from specdock.environments.container import RUNTIMES, find_runtime, none_left
from specdock.errors import SpecdockError
from specdock.plan.models import ContainerEnvironment
from specdock.plan.spec import ArmSpec
from tests.engines.arms import arm

IMAGE = f"some/sglang@sha256:{'ab' * 32}"
PLACED = Placed(
    Path("python3"),
    Path("resources/target.1"),
    Path("resources/drafter.2"),
    Path("resources/kernels/sglang.3"),
)


def in_image() -> ArmSpec:
    speculating = arm("sglang-0.5.23", {"method": "dflash2", "draft_tokens": 7})
    environment = ContainerEnvironment(kind="container", image=IMAGE)
    return speculating.model_copy(
        update={"engine": speculating.engine.model_copy(update={"environment": environment})}
    )


def command(runtime: str) -> list[str]:
    return InContainer(ADAPTERS["sglang"], runtime).command(in_image(), PLACED, 8100)


@pytest.fixture(autouse=True)
def every_card(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("SPECDOCK_CONTAINER_RUNTIME", raising=False)


def test_docker_runs_the_image_by_digest_with_every_card_and_a_port_on_loopback():
    assert command("docker")[:15] == [
        "docker",
        "run",
        "--name=specdock-cuda",
        "--rm",
        "--init",
        "--gpus=all",
        "--publish=127.0.0.1:8100:8100",
        "--shm-size=16g",
        "--volume=./resources/target.1:/specdock/resources/target.1:ro",
        "--volume=./resources/drafter.2:/specdock/resources/drafter.2:ro",
        "--volume=./resources/kernels/sglang.3:/specdock/resources/kernels/sglang.3",
        "--workdir=/specdock",
        "--env=HOME=/specdock/resources/kernels/sglang.3",
        "--env=HF_HUB_OFFLINE",
        "--env=TRANSFORMERS_OFFLINE",
    ]


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_engine_gets_the_command_line_that_it_gets_outside(runtime):
    outside = ADAPTERS["sglang"].command(in_image(), PLACED, 8100)
    inside = command(runtime)
    arguments = inside[next(i for i, word in enumerate(inside) if IMAGE in word) + 1 :]
    listening = "127.0.0.1" if runtime == "apptainer" else "0.0.0.0"
    wanted = [listening if word == "127.0.0.1" else word for word in outside]
    assert arguments == (wanted if runtime == "apptainer" else wanted[1:])


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_nothing_but_loopback_reaches_a_server_and_no_path_of_this_machine_is_named(runtime):
    said = command(runtime)
    if runtime == "apptainer":
        assert said[said.index("--host") + 1] == "127.0.0.1"
    else:
        assert [word for word in said if word.startswith("--publish")] == [
            "--publish=127.0.0.1:8100:8100"
        ]
    assert not [word for word in said if "--net" in word or "--hostname" in word]
    assert str(Path.cwd()) not in " ".join(said)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_checkpoints_are_mounted_read_only_and_compiled_kernels_are_kept(runtime):
    mounts = [word for word in command(runtime) if word.startswith(("--volume=", "--bind="))]
    assert [mount.endswith(":ro") for mount in mounts] == [True, True, False]
    assert "kernels" in mounts[-1]


@pytest.mark.parametrize(
    ("runtime", "flags"),
    [
        ("docker", ['--gpus="device=0,2"']),
        ("podman", ["--device=nvidia.com/gpu=0", "--device=nvidia.com/gpu=2"]),
        ("apptainer", ["--nv", "--env=CUDA_VISIBLE_DEVICES=0,2"]),
    ],
)
def test_only_the_cards_that_are_visible_outside_are_given(monkeypatch, runtime, flags):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,2")
    assert set(flags) <= set(command(runtime))


def test_without_a_card_none_is_asked_for():
    processor = in_image()
    processor = processor.model_copy(
        update={"engine": processor.engine.model_copy(update={"device": "cpu"})}
    )
    said = InContainer(ADAPTERS["sglang"], "docker").command(
        processor, replace(PLACED, drafter=None), 8100
    )
    assert not [word for word in said if "gpu" in word]


def test_a_machine_without_a_runtime_is_told_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpecdockError, match="none of docker, podman, apptainer on PATH"):
        find_runtime()
    monkeypatch.setenv("SPECDOCK_CONTAINER_RUNTIME", "rkt")
    with pytest.raises(SpecdockError, match=r"found    rkt\n  allowed  docker"):
        find_runtime()


def test_an_image_that_cannot_be_pulled_ends_with_the_runtimes_own_words(monkeypatch, tmp_path):
    runtime = tmp_path / "podman"
    runtime.write_text("#!/bin/sh\necho Error: no such manifest >&2\nexit 125\n")
    runtime.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SPECDOCK_CONTAINER_RUNTIME", "podman")
    with pytest.raises(SpecdockError, match="podman pull: Error: no such manifest"):
        build("sglang", ContainerEnvironment(kind="container", image=IMAGE), tmp_path)


@pytest.mark.parametrize("runtime", ["docker", "podman"])
def test_a_runtime_that_is_here_takes_every_flag(runtime):
    """Only asks for help on `run`: no image is needed, and none is started."""
    if shutil.which(runtime) is None:
        pytest.skip(f"{runtime} is not installed")
    known = subprocess.run([runtime, "run", "--help"], capture_output=True, text=True).stdout
    of_runtime = command(runtime)[2 : command(runtime).index(IMAGE)]
    for word in of_runtime:
        assert word.partition("=")[0] in known


@pytest.mark.parametrize(("runtime", "asked"), [("podman", 2), ("docker", 2), ("apptainer", 0)])
def test_a_container_that_outlived_its_command_is_removed_before_and_after(
    monkeypatch, tmp_path, runtime, asked
):
    said = tmp_path / "said"
    (tmp_path / runtime).write_text(f'#!/bin/sh\necho "$@" >> {said}\nexit 1\n')
    (tmp_path / runtime).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ZeroDivisionError), none_left(runtime, "specdock-cuda"):
        raise ZeroDivisionError
    lines = said.read_text().splitlines() if said.exists() else []
    assert lines == ["rm --force specdock-cuda"] * asked
