"""Engines in images: the command of docker, podman or apptainer that runs one, and the pull.

The repository is the working folder outside and `/specdock` inside, and checkpoints are mounted
read-only at the same relative paths, so that an engine's command line is the same in and out.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from specdock.errors import SpecdockError

INSIDE = "/specdock"
RUNTIMES = ("docker", "podman", "apptainer")
_CHOICE = "SPECDOCK_CONTAINER_RUNTIME"


@dataclass(frozen=True)
class Contained:
    """What runs in an image; paths are relative to the repository.

    `name` is the container's; `gpus` is `all`, or the devices as CUDA_VISIBLE_DEVICES names them,
    or None without a card.
    """

    name: str
    image: str
    command: list[str]
    variables: dict[str, str]
    read_only: list[Path]
    cache: Path
    port: int
    gpus: str | None


def find_runtime() -> str:
    """The runtime that SPECDOCK_CONTAINER_RUNTIME names, else the first that is on PATH."""
    chosen = os.environ.get(_CHOICE)
    if chosen is not None and chosen not in RUNTIMES:
        raise SpecdockError(f"{_CHOICE}\n  found    {chosen}\n  allowed  {', '.join(RUNTIMES)}")
    here = [name for name in RUNTIMES if shutil.which(name)]
    if chosen is None and not here:
        raise SpecdockError(
            "an engine of kind container needs a runtime\n"
            f"  found    none of {', '.join(RUNTIMES)} on PATH\n"
            "  install one, or give the engine an environment of kind venv or external"
        )
    return chosen or here[0]


def pull(runtime: str, image: str) -> None:
    """Brings the image here where it is missing, so that no download counts as the engine's start.

    apptainer keeps images by itself, in its own format, when it first runs one.
    """
    if runtime == "apptainer" or _has(runtime, image):
        return
    done = subprocess.run([runtime, "pull", "--quiet", image], capture_output=True, text=True)
    if done.returncode != 0:
        raise SpecdockError(
            f"config/engines.yaml: environment.image\n  found    {image}\n"
            f"  {runtime} pull: {done.stderr.strip().splitlines()[-1]}"
        )


def _has(runtime: str, image: str) -> bool:
    return subprocess.run([runtime, "image", "inspect", image], capture_output=True).returncode == 0


def name_of(device: str) -> str:
    """What the container of this machine's one engine on a device is called."""
    return f"specdock-{device}"


@contextmanager
def none_left(runtime: str, name: str) -> Iterator[None]:
    """Removes the container of this name before and after.

    docker and podman run it apart from the command that started it, so one that was killed leaves
    it running; apptainer's is a child of ours and ends with the others.
    """
    _remove(runtime, name)
    try:
        yield
    finally:
        _remove(runtime, name)


def _remove(runtime: str, name: str) -> None:
    if runtime != "apptainer":
        # Fails where there is no such container, which is what is wanted.
        subprocess.run([runtime, "rm", "--force", name], capture_output=True)


def listens_on(runtime: str) -> str:
    """Where the server listens inside: all of its own network, or loopback of the shared one."""
    return "127.0.0.1" if runtime == "apptainer" else "0.0.0.0"


def command(runtime: str, contained: Contained) -> list[str]:
    """The command that runs `contained` so that nothing but this machine's loopback reaches it.

    docker and podman take the values of variables from their own environment.
    """
    home = f"{INSIDE}/{contained.cache}"
    if runtime == "apptainer":
        return [*_apptainer(contained, home), f"docker://{contained.image}", *contained.command]
    entrypoint, *arguments = contained.command
    return [
        runtime,
        "run",
        f"--name={contained.name}",
        "--rm",
        "--init",
        *_gpus(runtime, contained.gpus),
        f"--publish=127.0.0.1:{contained.port}:{contained.port}",
        "--shm-size=16g",
        *(f"--volume=./{path}:{INSIDE}/{path}:ro" for path in contained.read_only),
        f"--volume=./{contained.cache}:{home}",
        f"--workdir={INSIDE}",
        f"--env=HOME={home}",
        *(f"--env={name}" for name in contained.variables),
        f"--entrypoint={entrypoint}",
        contained.image,
        *arguments,
    ]


def _gpus(runtime: str, gpus: str | None) -> list[str]:
    if gpus is None:
        return []
    if runtime == "podman":
        return [f"--device=nvidia.com/gpu={gpu}" for gpu in gpus.split(",")]
    return [f"--gpus={gpus}" if gpus == "all" else f'--gpus="device={gpus}"']


def _apptainer(contained: Contained, home: str) -> list[str]:
    """It shares the host's network, so its server listens on loopback only."""
    visible = {} if contained.gpus in (None, "all") else {"CUDA_VISIBLE_DEVICES": contained.gpus}
    variables = contained.variables | visible | {"HOME": home}
    return [
        "apptainer",
        "exec",
        "--containall",
        *(["--nv"] if contained.gpus else []),
        *(f"--bind=./{path}:{INSIDE}/{path}:ro" for path in contained.read_only),
        f"--bind=./{contained.cache}:{home}",
        f"--pwd={INSIDE}",
        *(f"--env={name}={value}" for name, value in variables.items()),
    ]
