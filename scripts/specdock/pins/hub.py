"""Files of a hub repository at one commit, through huggingface-hub."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from httpx2 import TransportError
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import filter_repo_objects

from specdock.pins.lock import LockedFile, PinError
from specdock.plan.models import HubSource

Kind = Literal["model", "dataset"]


def lock_hub(source: HubSource, kind: Kind) -> tuple[list[LockedFile], str | None]:
    """Files that the allow list admits, with the hub's hashes, and the licence it states.

    Raises `PinError` for a missing or gated repository, an unknown commit, no network, or a pattern
    that admits nothing.
    """
    with _explained(source):
        api = HfApi()
        ask = api.model_info if kind == "model" else api.dataset_info
        info = ask(source.repository, revision=source.revision, files_metadata=True)
    items = {item.rfilename: item for item in info.siblings}
    for pattern in source.files:
        if not list(filter_repo_objects(items, allow_patterns=pattern)):
            raise PinError(
                f"{source.repository}@{source.revision}: files\n  found    {pattern}\n"
                f"  allowed  patterns of its files: {', '.join(sorted(items))}"
            )
    files = [
        LockedFile(
            path=path,
            size=items[path].size,
            sha256=items[path].lfs.sha256 if items[path].lfs else None,
            git_sha1=None if items[path].lfs else items[path].blob_id,
        )
        for path in sorted(filter_repo_objects(items, allow_patterns=source.files))
    ]
    licence = (info.card_data or {}).get("license")
    # Cards of data sets may list several.
    return files, ", ".join(licence) if isinstance(licence, list) else licence


def fetch_hub(source: HubSource, kind: Kind, folder: Path) -> None:
    """Downloads the admitted files into `folder`; raises `PinError` as `lock_hub` does."""
    with _explained(source):
        snapshot_download(
            source.repository,
            repo_type=kind,
            revision=source.revision,
            allow_patterns=source.files,
            local_dir=folder,
        )


def resolve_short_commit(repository: str, prefix: str, kind: Kind = "model") -> str:
    """The one commit of the repository's default branch that starts with `prefix`.

    Raises `PinError` if none or several do; config then still wants all 40 digits.
    """
    source = HubSource(repository=repository, revision="0" * 40, files=["*"])
    with _explained(source):
        commits = HfApi().list_repo_commits(repository, repo_type=kind)
    found = [commit.commit_id for commit in commits if commit.commit_id.startswith(prefix)]
    if len(found) != 1:
        raise PinError(
            f"{repository}: {len(found)} commits start with {prefix}; give all 40 digits"
        )
    return found[0]


@contextmanager
def _explained(source: HubSource) -> Iterator[None]:
    """Turns the hub client's errors into one message that says what to do."""
    where = f"{source.repository}@{source.revision}"
    try:
        yield
    except GatedRepoError:
        raise PinError(
            f"{where}: the repository is gated; accept its licence on the hub and set HF_TOKEN to "
            "a token that may read it"
        ) from None
    except RevisionNotFoundError:
        raise PinError(f"{where}: the hub knows no such commit of this repository") from None
    except RepositoryNotFoundError:
        raise PinError(
            f"{where}: the hub has no such repository, or it is private and HF_TOKEN may not read "
            "it"
        ) from None
    except (OfflineModeIsEnabled, LocalEntryNotFoundError, TransportError) as error:
        raise PinError(
            f"{where}: the hub cannot be reached and the files are not all here ({error}); "
            "connect and call again"
        ) from None
    except HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            raise PinError(
                f"{where}: the hub refuses to show it ({error.response.status_code}): HF_TOKEN may "
                "not read it, or is no longer valid"
            ) from None
        raise PinError(f"{where}: the hub answered: {error}") from None
