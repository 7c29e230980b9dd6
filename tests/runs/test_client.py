"""The closed loop against a server that speaks the protocol, and against one that does not."""

import asyncio
import hashlib
import json
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from specdock.errors import SpecdockError
from specdock.plan.fingerprint import canonical
from specdock.runs.client import CellFailed, CellMeasurement, CellPlan, measure_cell
from specdock.runs.exchange import request_seed
from specdock.runs.server import free_port
from specdock.workloads.prompts import Prompt
from tests.stand_ins.openai_server import FINGERPRINT, Behaviour, StandIn, serve

BODY = {
    "model": "target",
    "max_tokens": 64,
    "temperature": 0.0,
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_token_ids": True,
}


def prompts(count: int) -> list[Prompt]:
    return [
        Prompt(
            prompt_id=f"p{i}",
            messages=[{"role": "user", "content": f"Count to {i}."}],
            answer=None,
            category="sums" if i % 2 else None,
            extra={},
        )
        for i in range(count)
    ]


def plan(streams: int = 1, requests: int = 2, **changes) -> CellPlan:
    settings = {"warmups": streams, "body": BODY, "seed": 1, "request_timeout": 10.0}
    settings["warmup_body"] = changes.get("body", BODY)
    return CellPlan(streams=streams, requests=requests, **settings | changes)


@asynccontextmanager
async def standing_in(**behaviour):
    stand_in = StandIn(Behaviour(**behaviour))
    runner, port = await serve(stand_in, 0)
    stand_in.url = f"http://127.0.0.1:{port}"
    try:
        yield stand_in
    finally:
        await runner.cleanup()


async def measure(
    url: str,
    cell: CellPlan,
    on_progress=lambda requests, tokens: None,
    on_window=lambda moment: None,
) -> CellMeasurement:
    given = prompts(cell.requests + cell.warmups)
    return await measure_cell(url, given, cell, on_progress, on_window)


async def failure(cell: CellPlan, **behaviour) -> CellFailed:
    async with standing_in(**behaviour) as server:
        with pytest.raises(CellFailed) as caught:
            await measure(server.url, cell)
    return caught.value


# What is sent


async def test_bodies_are_kept_as_sent_with_one_explicit_seed_a_prompt():
    async with standing_in() as server:
        measured = await measure(server.url, plan(streams=2, requests=3))
    assert sorted(canonical(json.loads(row.body)) for row in measured.rows) == sorted(
        map(canonical, server.bodies)
    )
    for row in measured.rows:
        body = json.loads(row.body)
        assert body.pop("seed") == request_seed(1, row.prompt_id)
        index = int(row.prompt_id[1:])
        assert body == BODY | {"messages": prompts(index + 1)[index].messages}


def test_sampling_seeds_differ_by_prompt_and_replicate_and_fit_every_engine():
    seeds = {request_seed(k, f"p{i}") for k in range(3) for i in range(50)}
    assert len(seeds) == 150
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert request_seed(1, "p0") == request_seed(1, "p0")


async def test_a_warm_up_may_be_shorter_than_what_is_measured():
    short = BODY | {"max_tokens": 3}
    async with standing_in() as server:
        measured = await measure(server.url, plan(streams=2, requests=2, warmup_body=short))
    lengths = {(row.phase, json.loads(row.body)["max_tokens"]) for row in measured.rows}
    assert lengths == {("warmup", 3), ("measured", BODY["max_tokens"])}
    assert {row.completion_tokens for row in measured.rows if row.phase == "warmup"} == {3}


async def test_the_window_measures_the_first_prompts_and_warms_up_with_the_next():
    async with standing_in() as server:
        measured = await measure(server.url, plan(streams=2, requests=3, warmups=4))
    phases = [(row.phase, row.request, row.prompt_id) for row in measured.rows]
    assert phases == [
        *(("warmup", i, f"p{i + 3}") for i in range(4)),
        *(("measured", i, f"p{i}") for i in range(3)),
    ]


# The closed loop


async def test_every_stream_is_kept_busy_and_no_more_than_that():
    async with standing_in(interval=0.002) as server:
        measured = await measure(server.url, plan(streams=3, requests=12, warmups=5))
    assert server.most_running == 3
    assert {row.stream for row in measured.rows} == {0, 1, 2}
    for stream in range(3):
        rows = [r for r in measured.rows if r.stream == stream and r.phase == "measured"]
        gaps = [later.t_enqueue - row.t_end for row, later in pairwise(rows)]
        assert all(0 <= gap < 0.2 for gap in gaps)


async def test_more_than_a_hundred_streams_are_not_queued_by_the_client():
    async with standing_in(first_after=0.5, tokens=2) as server:
        await measure(server.url, plan(streams=120, requests=120))
    assert server.most_running == 120


async def test_warm_ups_are_drained_before_the_window_opens():
    running = []
    async with standing_in(interval=0.002) as server:
        measured = await measure(
            server.url,
            plan(streams=3, requests=6, warmups=4),
            on_window=lambda moment: running.append((moment, server.running, len(server.bodies))),
        )
    assert running == [("before", 0, 4), ("after", 0, 10)]
    warm = [row for row in measured.rows if row.phase == "warmup"]
    assert all(row.t_end < 0 for row in warm)
    assert all(row.t_enqueue >= 0 for row in measured.rows if row.phase == "measured")


async def test_what_happens_before_the_window_costs_it_nothing():
    async with standing_in() as server:
        measured = await measure(server.url, plan(), on_window=lambda moment: time.sleep(0.8))
    assert measured.wall < 0.6
    assert measured.loop_lag < 600


def test_fewer_warm_ups_than_streams_are_refused():
    with pytest.raises(SpecdockError, match="warmups is 3, but each of the 4 streams"):
        plan(streams=4, warmups=3)


async def test_too_few_prompts_are_refused_before_anything_is_sent():
    async with standing_in() as server:
        with pytest.raises(SpecdockError, match="needs 3 prompts, 2 to measure and 1 to warm up"):
            await measure_cell(server.url, prompts(2), plan(), print, print)
        assert server.bodies == []


async def test_a_repeated_prompt_is_refused():
    twice = [*prompts(2), Prompt("again", prompts(1)[0].messages, None, None, {})]
    with pytest.raises(SpecdockError, match="prompts p0 and again are the same text"):
        await measure_cell("http://127.0.0.1:1", twice, plan(), print, print)


# What is timed


async def test_ttft_leaves_the_role_chunk_out():
    async with standing_in(first_after=0.2, tokens=5) as server:
        measured = await measure(server.url, plan())
    row = measured.rows[-1]
    assert row.t_first - row.t_send >= 0.2
    assert len(row.chunk_times) == 5


async def test_times_are_in_order_and_tpot_follows_from_usage():
    async with standing_in(interval=0.02, tokens=9, tokens_per_chunk=4) as server:
        measured = await measure(server.url, plan())
    row = measured.rows[-1]
    assert 0 <= row.t_enqueue <= row.t_send < row.t_first < row.t_last <= row.t_end
    assert row.chunk_times == sorted(row.chunk_times)
    assert (row.t_first, row.t_last) == (row.chunk_times[0], row.chunk_times[-1])
    # Nine tokens in three chunks, two pauses: by chunks it would be 20 ms.
    assert row.chunk_tokens == [1, 4, 4]
    tpot = (row.t_last - row.t_first) / (row.completion_tokens - 1)
    assert 2 * 0.02 / 8 <= tpot < 0.02


async def test_the_window_lasts_from_its_opening_to_the_last_stream_closed():
    async with standing_in(interval=0.01, tokens=6) as server:
        before = time.time()
        measured = await measure(server.url, plan(requests=3))
        after = time.time()
    assert measured.wall == max(row.t_end for row in measured.rows)
    assert before <= measured.window_start <= measured.window_start + measured.wall <= after
    assert 0 < measured.client_cpu < measured.wall


async def test_a_client_that_stalls_is_seen_in_its_lag():
    def stall(requests, tokens):
        time.sleep(0.2)

    async with standing_in(interval=0.1, tokens=8) as server:
        calm = await measure(server.url, plan(requests=1))
        stalled = await measure(server.url, plan(requests=1), on_progress=stall)
    assert calm.loop_lag < 150 < stalled.loop_lag


async def test_progress_counts_requests_and_tokens():
    seen = []
    async with standing_in(interval=0.1, tokens=9) as server:
        await measure(server.url, plan(), on_progress=lambda *counts: seen.append(counts))
    assert len(seen) >= 3
    assert seen == sorted(seen)
    assert seen[-1] == (2, 18)


# What is kept of an answer


async def test_a_complete_answer_is_kept_whole():
    async with standing_in(tokens=5, reasoning_tokens=2, cached_tokens=3) as server:
        measured = await measure(server.url, plan())
    row = measured.rows[-1]
    assert row.error is None
    assert (row.text, row.reasoning) == (" w1002 w1003 w1004", " w1000 w1001")
    assert row.token_ids == [1000, 1001, 1002, 1003, 1004]
    assert (row.finish_reason, row.completion_tokens, row.cached_tokens) == ("stop", 5, 3)
    assert (row.fingerprint, row.status, row.category) == (FINGERPRINT, 200, "sums")
    assert row.step_accepted == []
    assert row.engine_metrics is None


async def test_accepted_tokens_of_each_step_are_kept():
    async with standing_in(tokens=9, tokens_per_chunk=3, draft_tokens=5) as server:
        measured = await measure(server.url, plan())
    row = measured.rows[-1]
    assert (row.step_accepted, row.step_drafted) == ([2, 2, 1], [5, 5, 5])
    assert json.loads(row.engine_metrics)["metrics"]["speculative_decoding"]["num_spec_steps"] == 3


async def test_the_prompt_hash_is_of_token_ids_where_the_engine_gives_them():
    async with standing_in() as server:
        row = (await measure(server.url, plan())).rows[-1]
    sent = json.dumps(prompts(2)[1].messages, separators=(",", ":")).encode()
    ids = b"".join(byte.to_bytes(4, "little") for byte in sent)
    assert (row.prompt_hash_of, row.prompt_sha256) == ("token_ids", hashlib.sha256(ids).hexdigest())


async def test_the_prompt_hash_is_of_the_messages_where_it_gives_none():
    async with standing_in(token_ids=False) as server:
        row = (await measure(server.url, plan())).rows[-1]
    text = canonical(prompts(2)[1].messages).encode()
    assert (row.prompt_hash_of, row.prompt_sha256) == ("messages", hashlib.sha256(text).hexdigest())
    assert set(row.chunk_tokens) == {-1}
    assert row.token_ids == []


@pytest.mark.parametrize("piece", [1, 7, 1000])
async def test_events_in_pieces_with_comments_and_crlf_give_the_same_answer(piece):
    async with standing_in(tokens=4, piece=piece, comments=True, line_end="\r\n") as server:
        row = (await measure(server.url, plan())).rows[-1]
    assert row.error is None
    assert row.text == " w1000 w1001 w1002 w1003"


# What goes wrong


@pytest.mark.parametrize(
    ("fault", "said", "status"),
    [
        ("http-400", 'HTTP 400: {"error": {"message": "told to refuse this"', 400),
        ("http-500", "HTTP 500: ", 500),
        ("close-mid-stream", "the connection closed in mid-stream", 200),
        ("reset-mid-stream", "the connection closed in mid-stream", 200),
        ("error-mid-stream", "Context size has been exceeded", 200),
        ("not-json", "an event is not JSON: {half an obj", 200),
        ("no-usage", "the stream ended without usage;", 200),
        ("no-finish-reason", "the stream ended without a finish reason;", 200),
        ("no-done", "the stream ended without [DONE];", 200),
    ],
)
async def test_each_fault_has_its_own_words_and_the_others_are_still_sent(fault, said, status):
    # One stream, one warm-up, and the third of four measured requests goes wrong for good.
    error = await failure(plan(requests=4), fault=fault, fault_from=3)
    message = str(error)
    assert said in message
    assert message.startswith("2 of 4 measured requests failed; the first, prompt p2: ")
    assert "\n" not in message
    measured = [row for row in error.rows if row.phase == "measured"]
    assert [row.error is None for row in measured] == [True, True, False, False]
    assert measured[2].error in message
    assert measured[2].status == status


async def test_a_row_that_failed_in_mid_stream_keeps_what_had_come():
    error = await failure(plan(requests=1), fault="error-mid-stream", fault_from=1)
    row = error.rows[-1]
    assert row.text.startswith(" w1000")
    assert row.t_first is not None
    assert row.completion_tokens is None


async def test_a_request_that_is_never_answered_ends_at_its_timeout():
    error = await failure(
        plan(requests=1, request_timeout=0.3), fault="never-answers", fault_from=1
    )
    assert "no complete answer within 0.3 s (request_timeout of the scenario)" in str(error)
    assert 0.3 <= error.rows[-1].t_end < 1


async def test_failed_warm_ups_fail_the_cell_before_its_window():
    opened = []
    async with standing_in(fault="http-500") as server:
        with pytest.raises(CellFailed, match="2 of 2 warmup requests failed") as caught:
            await measure(server.url, plan(streams=2), on_window=opened.append)
    assert opened == []
    assert [row.phase for row in caught.value.rows] == ["warmup", "warmup"]


async def test_a_connection_dropped_without_an_answer_stops_the_cell():
    error = await failure(plan(requests=50), fault="close-unanswered", fault_from=3)
    assert "1 of 50 measured requests failed; the server is gone, 47 were not sent;" in str(error)
    assert len(error.rows) == 4


async def test_a_server_that_is_not_there_stops_the_cell_at_once():
    with pytest.raises(CellFailed, match="to the server: Connection refused") as caught:
        await measure(f"http://127.0.0.1:{free_port()}", plan(requests=50))
    assert len(caught.value.rows) == 1
    assert caught.value.rows[0].t_send is None


@pytest.mark.parametrize("streams", [1, 4])
async def test_a_server_that_dies_stops_the_cell_and_keeps_what_was_answered(streams):
    behaviour = {"dies_after": 10, "interval": 0.002}
    command = [sys.executable, "-m", "tests.stand_ins.openai_server"]
    server = subprocess.Popen(
        [*command, "--behaviour", json.dumps(behaviour)], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(await asyncio.to_thread(server.stdout.readline))
        with pytest.raises(CellFailed) as caught:
            await measure(f"http://127.0.0.1:{port}", plan(streams=streams, requests=200))
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    rows = caught.value.rows
    assert "the server is gone" in str(caught.value)
    # Ten were taken; each stream may have sent one more before it met the closed door.
    assert 10 - streams <= sum(row.error is None for row in rows) <= 10
    assert len(rows) <= 10 + 2 * streams
