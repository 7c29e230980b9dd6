"""Exports of other people's clients, as they left them on a real engine."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import median

import pyarrow.parquet as pq
import pytest

from specdock.clients import CLIENTS, GENERATORS
from specdock.clients.contract import ClientFailed, Load
from specdock.peers.table import COMPARED, own_figures
from specdock.runs.exchange import request_body
from specdock.runs.requests import as_table
from specdock.tables.requests import request_rows
from specdock.workloads.prompts import Prompt
from verification.clients import FIGURES, TOLD
from verification.study import compare

RECORDED = Path(__file__).parents[1] / "fixtures/clients"
FOLDERS = {
    "aiperf": RECORDED / "aiperf-0.13.0",
    "vllm-bench": RECORDED / "vllm-bench-0.32.0",
    "sglang-bench": RECORDED / "sglang-0.5.23",
}
# SGLang's client as it asks an SGLang server: it prints what it sends.
PRINTED = RECORDED / "sglang-0.5.23-printed"


def asked() -> Load:
    """What every client of the recorded round was given, from our own rows of that round."""
    rows = pq.read_table(RECORDED / "specdock/requests.parquet").to_pylist()
    rows = [row for row in rows if row["phase"] == "measured"]
    bodies = [row["body"].encode() for row in rows]
    prompts = [Prompt(row["prompt_id"], json.loads(row["body"])["messages"]) for row in rows]
    return Load("http://127.0.0.1:1", "vllm", prompts, bodies, 4, 60, Path("target"), {})


def asked_in_print() -> Load:
    """What SGLang's client was given in the run whose requests it printed."""
    prompts = [Prompt(f"p{i}", [{"role": "user", "content": f"Say {i}."}]) for i in range(8)]
    bodies = [request_body({"max_tokens": 32}, prompt, 1) for prompt in prompts]
    return Load("http://127.0.0.1:1", "sglang", prompts, bodies, 4, 60, Path("target"), {})


RUNS = {"aiperf": (FOLDERS["aiperf"], asked), "sglang-bench": (PRINTED, asked_in_print)}


@pytest.mark.parametrize("client", FOLDERS)
def test_every_client_did_the_same_work_as_ours(client):
    theirs, ours = CLIENTS[client].figures(FOLDERS[client]), own_figures(RECORDED / "specdock")
    assert theirs.requests == ours.requests == 4
    assert theirs.completion_tokens == ours.completion_tokens
    # One engine, greedy, four answers each, beside other work on two cores.
    assert theirs.output_rate == pytest.approx(ours.output_rate, rel=0.5)
    assert theirs.tpot_median == pytest.approx(ours.tpot_median, rel=0.5)


@pytest.mark.parametrize("client", FOLDERS)
def test_what_a_client_reports_follows_from_its_requests_by_other_code(client):
    told = FIGURES[client](FOLDERS[client])
    ours = CLIENTS[client].figures(FOLDERS[client])
    assert told == {metric: getattr(ours, metric) for metric in COMPARED}


@pytest.mark.parametrize("client", RUNS)
def test_rows_of_an_export_give_the_clients_own_figures(client):
    folder, given = RUNS[client]
    generated = GENERATORS[client].rows(folder, given())
    told = CLIENTS[client].figures(folder)
    assert [row.error for row in generated.rows] == [None] * told.requests
    assert sum(row.completion_tokens for row in generated.rows) == told.completion_tokens
    columns = {"cell": "c", "arm": "a", "scenario": "s", "seed": 1, "session": "s"}
    rows = list(request_rows(as_table(generated.rows, **columns).to_pylist(), {}, 0))
    assert median(r["ttft"] for r in rows) == pytest.approx(told.ttft_median, rel=1e-6)
    # SGLang's TPOT lasts to the end of the stream, ours to the last chunk.
    within = 1e-6 if client == "aiperf" else 0.2
    assert median(r["tpot"] for r in rows) == pytest.approx(told.tpot_median, rel=within)
    sent = [row.t_send for row in generated.rows]
    assert sent[0] == 0 and sent == sorted(sent)
    for row in generated.rows:
        assert row.t_send <= row.t_first <= row.t_last <= row.t_end
        assert len(row.chunk_times) == len(row.chunk_tokens)
        assert row.t_enqueue is None and row.stream is None  # nobody told


@pytest.mark.parametrize("client", RUNS)
def test_other_code_reads_the_same_requests_out_of_an_export(client):
    folder, given = RUNS[client]
    rows = GENERATORS[client].rows(folder, given()).rows
    for row, told in zip(rows, TOLD[client](folder), strict=True):
        compare("here", row.__dict__, told, whole=False)


def test_aiperf_tells_all_that_a_stream_says():
    load = asked()
    by_prompt = {
        row.prompt_id: row for row in GENERATORS["aiperf"].rows(FOLDERS["aiperf"], load).rows
    }
    ours = pq.read_table(RECORDED / "specdock/requests.parquet").to_pylist()
    for row in (row for row in ours if row["phase"] == "measured"):
        theirs = by_prompt[row["prompt_id"]]
        assert theirs.token_ids == row["token_ids"] and theirs.text == row["text"]
        assert theirs.finish_reason == row["finish_reason"]
        assert theirs.prompt_sha256 == row["prompt_sha256"]
        assert json.loads(theirs.body) == json.loads(row["body"])


def test_what_sglangs_client_does_not_tell_is_null():
    for row in GENERATORS["sglang-bench"].rows(PRINTED, asked_in_print()).rows:
        assert row.finish_reason is None and row.status is None and row.token_ids == []
        assert set(row.chunk_tokens) == {-1}
        assert "max_completion_tokens" in row.body and '"max_tokens"' not in row.body


def test_an_answer_to_what_was_not_asked_is_refused():
    load = asked()
    others = [Prompt(p.prompt_id, [{"role": "user", "content": "?"}]) for p in load.prompts]
    strange = replace(load, prompts=others)
    with pytest.raises(ClientFailed, match="asks what AIPerf was not given"):
        GENERATORS["aiperf"].rows(FOLDERS["aiperf"], strange)
    printed = asked_in_print()
    bodies = [body.replace(b'"seed":', b'"seed":9') for body in printed.bodies]
    with pytest.raises(ClientFailed, match="printed no seed 9"):
        GENERATORS["sglang-bench"].rows(PRINTED, replace(printed, bodies=bodies))


def test_a_figure_that_a_client_left_out_is_named(tmp_path):
    summary = json.loads((FOLDERS["aiperf"] / "profile_export_aiperf.json").read_text())
    del summary["inter_token_latency"]
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(summary))
    with pytest.raises(ClientFailed, match="AIPerf tells no 'inter_token_latency'"):
        CLIENTS["aiperf"].figures(tmp_path)
