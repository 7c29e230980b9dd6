"""Server-sent events cut anywhere give the same events, and chunks the same answer."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdock.runs.stream import Answer, BadStream, EventDecoder, quoted

TEXT = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))


@given(events=st.lists(TEXT, max_size=6), line_end=st.sampled_from(["\n", "\r\n"]), data=st.data())
def test_events_do_not_depend_on_where_the_bytes_are_cut(events, line_end, data):
    frames = [f": comment{line_end}{line_end}data: {event}{line_end}{line_end}" for event in events]
    stream = "".join(frames).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)))))
    decoder = EventDecoder()
    edges = [0, *cuts, len(stream)]
    seen = [e for a, b in pairwise(edges) for e in decoder.feed(stream[a:b])]
    assert [event.decode() for event in seen] == [event for event in events if event]


def test_data_over_several_lines_is_one_event():
    assert EventDecoder().feed(b"event: x\ndata: a\ndata:b\nid: 1\n\n") == [b"a\nb"]


def test_an_event_without_its_blank_line_waits_for_it():
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\n") == [b"a"]


def chunk(delta: dict, finish: str | None = None, ids: list[int] | None = None, **more) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = ids
    return json.dumps({"choices": [choice], **more}).encode()


USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


def answer_of(*events: bytes) -> Answer:
    answer = Answer()
    for now, event in enumerate(events):
        answer.take(event, float(now))
    return answer


def test_the_chunk_that_only_names_the_role_is_no_token():
    answer = answer_of(
        chunk({"role": "assistant", "content": ""}),
        chunk({"role": "assistant", "content": None}),
        chunk({"content": "a"}),
    )
    assert answer.chunk_times == [2.0]


def test_a_chunk_with_token_ids_but_no_text_is_a_token():
    answer = answer_of(chunk({"content": ""}, ids=[2]), chunk({"content": "b"}, ids=[3, 4]))
    assert answer.chunk_times == [0.0, 1.0]
    assert answer.chunk_tokens == [1, 2]
    assert answer.token_ids == [2, 3, 4]


def test_tokens_of_a_chunk_are_unknown_where_no_ids_are_given():
    assert answer_of(chunk({"content": "a b"})).chunk_tokens == [-1]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_under_both_names(name):
    answer = answer_of(chunk({name: "hm"}), chunk({"content": "a"}))
    assert (answer.reasoning, answer.text, answer.chunk_times) == ("hm", "a", [0.0, 1.0])


def test_the_last_usage_counts():
    running = json.dumps({"choices": [], "usage": {"completion_tokens": 1}}).encode()
    last = json.dumps({"choices": [], "usage": USAGE}).encode()
    assert answer_of(running, last).usage == USAGE


def test_accepted_tokens_per_step_are_read_from_detailed_metrics():
    steps = {"per_step_accepted": [2, 0], "per_step_drafted": [3, 3]}
    metrics = {"speculative_decoding": steps}
    answer = answer_of(json.dumps({"choices": [], "usage": USAGE, "metrics": metrics}).encode())
    assert answer.steps("per_step_accepted") == [2, 0]
    assert answer.steps("per_step_drafted") == [3, 3]


def test_no_steps_are_made_up_where_the_engine_gives_none():
    plain = json.dumps({"choices": [], "metrics": {"speculative_decoding": None}}).encode()
    assert answer_of(plain).steps("per_step_accepted") == []


@pytest.mark.parametrize(
    "account",
    [
        {"timings": {"draft_n": 39, "draft_n_accepted": 29}},
        {"sglext": {"spec_tokens_details": {"spec_verify_ct": 30}}},
    ],
)
def test_an_engines_own_account_is_kept_whole(account):
    assert answer_of(json.dumps({"choices": [], **account}).encode()).engine_metrics == account


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (b'{"error": {"code": 500, "message": "full"}}', "full"),
        (b'{"choices": null}', "instead of a chunk"),
        (b"[1]", "instead of a chunk"),
        (b"{half", "not JSON: {half"),
    ],
)
def test_what_is_no_chunk_is_a_fault_that_quotes_it(event, said):
    with pytest.raises(BadStream, match=said):
        answer_of(event)


def test_an_incomplete_stream_names_all_that_it_lacks():
    answer = answer_of(chunk({"content": "a"}))
    with pytest.raises(BadStream) as caught:
        answer.check_complete()
    assert str(caught.value) == (
        "the stream ended without a finish reason and without usage and without [DONE]"
    )


def test_a_complete_stream_passes():
    usage = json.dumps({"choices": [], "usage": USAGE}).encode()
    answer_of(chunk({"content": "a"}, "stop"), usage, b"[DONE]").check_complete()


def test_a_long_quotation_is_cut_and_kept_on_one_line():
    assert quoted(b"a\nb") == "a b"
    assert len(quoted(b"x" * 5000)) == 303
