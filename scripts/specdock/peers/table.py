"""The comparison of clients: each metric as ours and as theirs, with the noise between rounds."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from specdock.claims.intervals import mean_over_runs, ratio
from specdock.claims.verdicts import verdicts
from specdock.clients import client_of
from specdock.clients.contract import ClientFailed, Figures
from specdock.columns import column
from specdock.peers import OURS
from specdock.plan.spec import ClientSpec, PeersSpec
from specdock.tables.requests import request_rows
from specdock.tables.schema import METRICS

COMPARED = ("output_rate", "ttft_median", "tpot_median")

PEERS = pa.schema(
    [
        column("client", pa.string(), "client of config/clients.yaml that is compared with ours"),
        column("arm", pa.string(), "arm that was served"),
        column("scenario", pa.string(), "cell that every client measured"),
        column("metric", pa.string(), "metric column of the cells"),
        column("unit", pa.string(), "unit of ours and theirs"),
        column("definition", pa.string(), "definition id of ours"),
        column("their_definition", pa.string(), "what their source means by it"),
        column("ours", pa.float64(), "as our client measured it, mean over rounds"),
        column("theirs", pa.float64(), "as their client reports it, mean over rounds"),
        column("ratio", pa.float64(), "theirs over ours, round by round"),
        column("low", pa.float64(), "lower end of its interval between rounds"),
        column("high", pa.float64(), "upper end of its interval between rounds"),
        column("rounds", pa.int32(), "rounds against one engine start"),
        column("within_noise", pa.bool_(), "the interval holds one: no difference is shown"),
        column("band", pa.float64(), "inside it clients count as equal, from the study"),
        column("verdict", pa.string(), "higher, lower, equivalent or undecided, by the band"),
        column("files", pa.list_(pa.string()), "raw files behind it, from the repository root"),
        column("synthetic", pa.bool_(), "dummy weights or imposed acceptance"),
    ]
)


def build_peers(plan: Mapping, manifest: Path, root: Path, out: Path) -> None:
    """Writes the table of `PEERS`; `plan` is the resolved study."""
    table = pa.Table.from_pylist(list(_rows(plan, manifest, root)), PEERS)
    out.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, out, compression="zstd")


def own_figures(folder: Path) -> Figures:
    """Our client's figures of a run, as the tables define them."""
    raw = pq.read_table(folder / "requests.parquet").to_pylist()
    rows = list(request_rows(raw, {}, 0))
    tokens = sum(row["completion_tokens"] for row in rows)
    return Figures(
        requests=len(rows),
        completion_tokens=tokens,
        output_rate=tokens / max(row["t_end"] for row in raw),
        ttft_median=median(row["ttft"] for row in rows),
        tpot_median=median(row["tpot"] for row in rows if row["tpot"] is not None),
    )


def _rows(plan: Mapping, manifest: Path, root: Path) -> Iterator[dict]:
    content = json.loads(manifest.read_text(encoding="utf-8"))
    spec = PeersSpec.model_validate(content["spec"])
    arm, scenario = spec.session.arm, spec.session.cells[0].scenario
    turns = [manifest.parent / f"round-{turn + 1}" for turn in range(spec.rounds)]
    ours = [own_figures(turn / OURS) for turn in turns]
    for client in spec.clients:
        theirs = [client_of(client).figures(turn / client.name) for turn in turns]
        _same_work(client, ours, theirs)
        folders = [turn / name for turn in turns for name in (OURS, client.name)]
        files = sorted(path for folder in folders for path in folder.iterdir())
        for metric in COMPARED:
            band = plan["band"].get(metric, 0.0)
            yield {
                "client": client.name,
                "arm": arm.name,
                "scenario": scenario.id,
                "metric": metric,
                "unit": METRICS[metric].unit,
                "definition": METRICS[metric].definition,
                "their_definition": client.client.definitions[metric],
                **_compared(_values(ours, metric), _values(theirs, metric), band),
                "rounds": spec.rounds,
                "band": band,
                "files": [path.relative_to(root).as_posix() for path in files],
                "synthetic": arm.synthetic,
            }


def _values(figures: list[Figures], metric: str) -> np.ndarray:
    return np.array([getattr(one, metric) for one in figures])


def _compared(ours: np.ndarray, theirs: np.ndarray, band: float) -> dict:
    estimate = ratio(theirs, ours)
    low, high = float(estimate.low), float(estimate.high)
    return {
        "ours": float(mean_over_runs(ours).value),
        "theirs": float(mean_over_runs(theirs).value),
        "ratio": float(estimate.value),
        "low": low,
        "high": high,
        "within_noise": low <= 1 <= high,
        # A rate or a wait is neither better nor worse for being reported by another client.
        "verdict": str(verdicts(estimate, band, None)),
    }


def _same_work(client: ClientSpec, ours: list[Figures], theirs: list[Figures]) -> None:
    for turn, (own, other) in enumerate(zip(ours, theirs, strict=True), start=1):
        if own.requests != other.requests:
            raise ClientFailed(
                f"round {turn}: {client.name} reports {other.requests} requests, ours "
                f"{own.requests}; the two did not measure the same cell"
            )
