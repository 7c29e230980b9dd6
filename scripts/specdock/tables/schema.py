"""The columns of every table, with their meaning and unit, as Arrow schemas.

Each field carries `description` and, where it has one, `unit` in its metadata, so that the Parquet
files explain themselves. Metric columns of `CELLS` are what the article may print; `METRICS` says
for each which direction is better and which definition the name stands for.
"""

from dataclasses import dataclass

import pyarrow as pa

from specdock.columns import column

_KEY = [
    column("study", pa.string(), "study, the name of its file under config/studies"),
    column("arm", pa.string(), "served configuration"),
    column("scenario", pa.string(), "workload@streams, with its sampling setting if not greedy"),
    column("seed", pa.int32(), "replicate: a fresh engine start, prompt order and sampling seed"),
    column("cell", pa.string(), "fingerprint of arm, scenario and seed"),
    column("session", pa.string(), "engine start that measured the cell"),
]

CELLS = pa.schema(
    [
        *_KEY,
        column("workload", pa.string(), "data set of the prompts"),
        column("streams", pa.int32(), "closed-loop concurrency"),
        column("sampling", pa.string(), "name of the sampling setting"),
        column("engine", pa.string(), "engine entry of config/engines.yaml"),
        column("fixed_length", pa.bool_(), "generation was forced to its token cap"),
        column("synthetic", pa.bool_(), "weights are dummies or acceptance was imposed"),
        column("usable", pa.bool_(), "no reason against quoting the cell"),
        column("reasons", pa.list_(pa.string()), "why it must not be quoted, as codes"),
        column("remarks", pa.list_(pa.string()), "what a reader must know of it, as codes"),
        column("requests", pa.int32(), "measured requests"),
        column("window_start", pa.timestamp("ms", tz="UTC"), "start of the measured window"),
        column("wall", pa.float64(), "first request sent to last stream closed", "s"),
        column("prompt_tokens", pa.int64(), "by the server's usage", "tokens"),
        column("completion_tokens", pa.int64(), "by the server's usage", "tokens"),
        column(
            "output_rate", pa.float64(), "completion tokens over the window's wall time", "tok/s"
        ),
        column("ttft_median", pa.float64(), "request sent to first content, median", "ms"),
        column("ttft_mean", pa.float64(), "request sent to first content, mean", "ms"),
        column("tpot_median", pa.float64(), "(last - first) / (tokens - 1), median", "ms"),
        column("latency_median", pa.float64(), "request sent to stream closed, median", "ms"),
        column("prefill_rate", pa.float64(), "prompt tokens over TTFT, one stream only", "tok/s"),
        column("finished_stop", pa.float64(), "share of requests that ended by themselves"),
        # Where an engine has no such counter, its accounts of the requests are summed.
        column("drafts", pa.int64(), "drafting steps, engine's counter"),
        column("draft_tokens", pa.int64(), "tokens drafted, engine's counter", "tokens"),
        column(
            "accepted_tokens", pa.int64(), "drafted tokens accepted, engine's counter", "tokens"
        ),
        column("al_counter", pa.float64(), "1 + accepted / drafts, engine's counters", "tokens"),
        column(
            "al_committed", pa.float64(), "(tokens - 1) / steps, pooled over requests", "tokens"
        ),
        column(
            "al_req_macro", pa.float64(), "mean over requests of 1 + accepted / steps", "tokens"
        ),
        column("al_tok_per_verify_macro", pa.float64(), "mean of tokens / steps", "tokens"),
        column("al_tok_per_verify_micro", pa.float64(), "sum tokens / sum steps", "tokens"),
        column("acceptance_rate", pa.float64(), "accepted / drafted, engine's counters"),
        column(
            "accepted_per_position",
            pa.list_(pa.float64()),
            "share of drafts whose draft token at this position was accepted (unconditional)",
        ),
        column("verification_steps", pa.int64(), "engine steps that emitted tokens, per request"),
        column("step_time", pa.float64(), "decode time per verification step", "ms"),
        column("graded", pa.int32(), "answers graded"),
        column("correct", pa.int32(), "answers graded correct"),
        column("accuracy", pa.float64(), "correct / graded"),
        column("degenerate", pa.int32(), "answers that are repetition loops"),
        column(
            "prefix_hit_tokens", pa.int64(), "prompt tokens served from the prefix cache", "tokens"
        ),
        column("preemptions", pa.int64(), "requests preempted in the window"),
        column("power", pa.float64(), "mean board power in the window", "W"),
        column("energy_counter", pa.float64(), "board energy by the card's counter", "J"),
        column("energy_trapezoid", pa.float64(), "board energy by integrated samples", "J"),
        column("energy_coverage", pa.float64(), "share of the window that samples cover"),
        column("tokens_per_joule", pa.float64(), "completion tokens over counter energy", "tok/J"),
        column("joules_per_request", pa.float64(), "counter energy over requests", "J"),
        column("peak_memory", pa.float64(), "largest memory in use on the card", "MiB"),
        column("card_busy", pa.float64(), "mean share of time in which a kernel ran, by the card"),
        column("client_cpu", pa.float64(), "client CPU time over wall time"),
        column("loop_lag", pa.float64(), "largest delay of the client's event loop", "ms"),
        column(
            "raw_file", pa.string(), "requests.parquet of the session, from the repository root"
        ),
        column("raw_rows", pa.list_(pa.int64()), "rows of the measured requests in that file"),
    ]
)

REQUESTS = pa.schema(
    [
        *_KEY,
        column("request", pa.int32(), "order of sending within the window, from 0"),
        column("prompt_id", pa.string(), "prompt of the data set"),
        column("category", pa.string(), "subject of the prompt, where the data set names one"),
        column("prompt_sha256", pa.string(), "hash of the rendered prompt"),
        column("ttft", pa.float64(), "request sent to first content", "ms"),
        column("tpot", pa.float64(), "(last - first) / (completion tokens - 1)", "ms"),
        column("latency", pa.float64(), "request sent to stream closed", "ms"),
        column("prompt_tokens", pa.int32(), "by the server's usage", "tokens"),
        column("completion_tokens", pa.int32(), "by the server's usage", "tokens"),
        column("finish_reason", pa.string(), "stop or length"),
        column("steps", pa.int32(), "engine steps that emitted tokens, the prefill step aside"),
        column("drafted_steps", pa.int32(), "steps that verified at least one draft token"),
        column("draft_tokens", pa.int32(), "tokens drafted for this request", "tokens"),
        column("accepted_tokens", pa.int32(), "of these, accepted", "tokens"),
        column("largest_chunk", pa.int32(), "tokens of the largest stream chunk", "tokens"),
        column("correct", pa.bool_(), "graded correct; null where not graded"),
        column("outcome", pa.string(), "how the grade came about"),
        column("degenerate", pa.bool_(), "the answer is a repetition loop"),
        column("error", pa.string(), "why the request failed; null if it did not"),
        column("raw_file", pa.string(), "requests.parquet of the session, from the root"),
        column("raw_row", pa.int64(), "row in that file"),
    ]
)

SESSIONS = pa.schema(
    [
        column("study", pa.string(), "study"),
        column("arm", pa.string(), "served configuration"),
        column("seed", pa.int32(), "replicate"),
        column("session", pa.string(), "engine start"),
        column("engine", pa.string(), "engine entry of config/engines.yaml"),
        column("engine_version", pa.string(), "version that the engine itself states"),
        column("started_at", pa.timestamp("ms", tz="UTC"), "process start"),
        column("ready_after", pa.float64(), "process start to ready", "s"),
        column("order", pa.int32(), "position in the campaign's seeded order"),
        column("kv_pool_tokens", pa.int64(), "capacity of the KV pool", "tokens"),
        column("request_slots", pa.int32(), "requests that may run at once"),
        column("recurrent_slots", pa.int32(), "slots for linear-attention state"),
        column("model_memory", pa.float64(), "weights in memory, target and drafter", "GiB"),
        column("argv", pa.list_(pa.string()), "command line of the engine"),
        column("environment", pa.string(), "environment variables that matter, as JSON"),
        column("lock_sha256", pa.string(), "lock of the engine's environment"),
        column("target", pa.string(), "pin of the target"),
        column("drafter", pa.string(), "pin of the drafter"),
        column("checkpoints", pa.string(), "bytes that decoding reads of each, as JSON"),
        column("gpu", pa.string(), "card, driver, limit and clocks, or why absent, as JSON"),
        column("host", pa.string(), "processor and load, as JSON"),
        column("commit", pa.string(), "commit of this repository that measured"),
        column("dirty", pa.string(), "sha256 of the uncommitted change, empty if none"),
        column(
            "evidence",
            pa.list_(
                pa.struct(
                    [
                        ("fact", pa.string()),
                        ("value", pa.string()),
                        ("line", pa.int32()),
                        ("text", pa.string()),
                    ]
                )
            ),
            "facts found in the engine's log, with their line",
        ),
        column("log_file", pa.string(), "server.log, from the repository root"),
        column("manifest_file", pa.string(), "manifest.json, from the repository root"),
    ]
)


@dataclass(frozen=True)
class Metric:
    """What a metric column stands for when it is compared and printed."""

    label: str
    unit: str
    higher_is_better: bool | None
    definition: str
    digits: int


METRICS: dict[str, Metric] = {
    "output_rate": Metric("output rate", "tok/s", True, "output_rate.window", 1),
    "ttft_median": Metric("TTFT", "ms", False, "ttft.content", 0),
    "tpot_median": Metric("TPOT", "ms", False, "tpot.usage", 1),
    "latency_median": Metric("latency", "ms", False, "latency.request", 0),
    "prefill_rate": Metric("prefill rate", "tok/s", True, "prefill.ttft", 0),
    "al_committed": Metric("acceptance length", "tokens", None, "al.committed", 2),
    "al_counter": Metric("acceptance length, engine's counters", "tokens", None, "al.counter", 2),
    "al_req_macro": Metric(
        "acceptance length, mean of requests", "tokens", None, "al.req_macro", 2
    ),
    "al_tok_per_verify_macro": Metric(
        "tokens per verification step, mean of requests",
        "tokens",
        None,
        "al.tok_per_verify_macro",
        2,
    ),
    "al_tok_per_verify_micro": Metric(
        "tokens per verification step, pooled", "tokens", None, "al.tok_per_verify_micro", 2
    ),
    "acceptance_rate": Metric("acceptance rate", "", None, "acceptance.rate", 3),
    "step_time": Metric("time per verification step", "ms", False, "step.decode", 1),
    "accuracy": Metric("share correct", "", True, "accuracy.graded", 3),
    "correct": Metric("correct", "", True, "correct.graded", 0),
    "power": Metric("board power", "W", False, "power.board", 1),
    "tokens_per_joule": Metric("tokens per joule", "tok/J", True, "energy.counter", 2),
    "joules_per_request": Metric("energy per request", "J", False, "energy.counter", 1),
    "peak_memory": Metric("peak memory", "MiB", False, "memory.peak", 0),
    "card_busy": Metric("share of time in which the card ran a kernel", "", None, "card.busy", 3),
}
