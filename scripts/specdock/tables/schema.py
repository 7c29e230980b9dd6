"""The columns of every table, with their meaning and unit, as Arrow schemas.

Each field carries `description` and, where it has one, `unit` in its metadata, so that the Parquet
files explain themselves. Metric columns of `CELLS` are what the article may print; `METRICS` says
for each which direction is better and which definition the name stands for.
"""

from dataclasses import dataclass

import pyarrow as pa


def field(name: str, kind: pa.DataType, description: str, unit: str = "") -> pa.Field:
    """A nullable Arrow field whose metadata says what it means and in which unit."""
    return pa.field(name, kind, metadata={"description": description, "unit": unit})


_KEY = [
    field("study", pa.string(), "study, the name of its file under config/studies"),
    field("arm", pa.string(), "served configuration"),
    field("scenario", pa.string(), "workload@streams, with its sampling setting if not greedy"),
    field("seed", pa.int32(), "replicate: a fresh engine start, prompt order and sampling seed"),
    field("cell", pa.string(), "fingerprint of arm, scenario and seed"),
    field("session", pa.string(), "engine start that measured the cell"),
]

CELLS = pa.schema(
    [
        *_KEY,
        field("workload", pa.string(), "data set of the prompts"),
        field("streams", pa.int32(), "closed-loop concurrency"),
        field("sampling", pa.string(), "name of the sampling setting"),
        field("engine", pa.string(), "engine entry of config/engines.yaml"),
        field("fixed_length", pa.bool_(), "generation was forced to its token cap"),
        field("synthetic", pa.bool_(), "weights are dummies or acceptance was imposed"),
        field("usable", pa.bool_(), "no reason against quoting the cell"),
        field("reasons", pa.list_(pa.string()), "why it must not be quoted, as codes"),
        field("remarks", pa.list_(pa.string()), "what a reader must know of it, as codes"),
        field("requests", pa.int32(), "measured requests"),
        field("window_start", pa.timestamp("ms", tz="UTC"), "start of the measured window"),
        field("wall", pa.float64(), "first request sent to last stream closed", "s"),
        field("prompt_tokens", pa.int64(), "by the server's usage", "tokens"),
        field("completion_tokens", pa.int64(), "by the server's usage", "tokens"),
        field(
            "output_rate", pa.float64(), "completion tokens over the window's wall time", "tok/s"
        ),
        field("ttft_median", pa.float64(), "request sent to first content, median", "ms"),
        field("ttft_mean", pa.float64(), "request sent to first content, mean", "ms"),
        field("tpot_median", pa.float64(), "(last - first) / (tokens - 1), median", "ms"),
        field("latency_median", pa.float64(), "request sent to stream closed, median", "ms"),
        field("prefill_rate", pa.float64(), "prompt tokens over TTFT, one stream only", "tok/s"),
        field("finished_stop", pa.float64(), "share of requests that ended by themselves"),
        field("drafts", pa.int64(), "drafting steps, engine's counter"),
        field("draft_tokens", pa.int64(), "tokens drafted, engine's counter", "tokens"),
        field("accepted_tokens", pa.int64(), "drafted tokens accepted, engine's counter", "tokens"),
        field("al_counter", pa.float64(), "1 + accepted / drafts, engine's counters", "tokens"),
        field("al_committed", pa.float64(), "(tokens - 1) / steps, pooled over requests", "tokens"),
        field("al_req_macro", pa.float64(), "mean over requests of 1 + accepted / steps", "tokens"),
        field("al_tok_per_verify_macro", pa.float64(), "mean of tokens / steps", "tokens"),
        field("al_tok_per_verify_micro", pa.float64(), "sum tokens / sum steps", "tokens"),
        field("acceptance_rate", pa.float64(), "accepted / drafted, engine's counters"),
        field(
            "accepted_per_position",
            pa.list_(pa.float64()),
            "share of drafts whose draft token at this position was accepted (unconditional)",
        ),
        field("verification_steps", pa.int64(), "engine steps that emitted tokens, per request"),
        field("step_time", pa.float64(), "decode time per verification step", "ms"),
        field("graded", pa.int32(), "answers graded"),
        field("correct", pa.int32(), "answers graded correct"),
        field("accuracy", pa.float64(), "correct / graded"),
        field("degenerate", pa.int32(), "answers that are repetition loops"),
        field(
            "prefix_hit_tokens", pa.int64(), "prompt tokens served from the prefix cache", "tokens"
        ),
        field("preemptions", pa.int64(), "requests preempted in the window"),
        field("power", pa.float64(), "mean board power in the window", "W"),
        field("energy_counter", pa.float64(), "board energy by the card's counter", "J"),
        field("energy_trapezoid", pa.float64(), "board energy by integrated samples", "J"),
        field("energy_coverage", pa.float64(), "share of the window that samples cover"),
        field("tokens_per_joule", pa.float64(), "completion tokens over counter energy", "tok/J"),
        field("joules_per_request", pa.float64(), "counter energy over requests", "J"),
        field("peak_memory", pa.float64(), "largest memory in use on the card", "MiB"),
        field("client_cpu", pa.float64(), "client CPU time over wall time"),
        field("loop_lag", pa.float64(), "largest delay of the client's event loop", "ms"),
        field("raw_file", pa.string(), "requests.parquet of the session, from the repository root"),
        field("raw_rows", pa.list_(pa.int64()), "rows of the measured requests in that file"),
    ]
)

REQUESTS = pa.schema(
    [
        *_KEY,
        field("request", pa.int32(), "order of sending within the window, from 0"),
        field("prompt_id", pa.string(), "prompt of the data set"),
        field("category", pa.string(), "subject of the prompt, where the data set names one"),
        field("prompt_sha256", pa.string(), "hash of the rendered prompt"),
        field("ttft", pa.float64(), "request sent to first content", "ms"),
        field("tpot", pa.float64(), "(last - first) / (completion tokens - 1)", "ms"),
        field("latency", pa.float64(), "request sent to stream closed", "ms"),
        field("prompt_tokens", pa.int32(), "by the server's usage", "tokens"),
        field("completion_tokens", pa.int32(), "by the server's usage", "tokens"),
        field("finish_reason", pa.string(), "stop or length"),
        field("steps", pa.int32(), "engine steps that emitted tokens, the prefill step aside"),
        field("drafted_steps", pa.int32(), "steps that verified at least one draft token"),
        field("draft_tokens", pa.int32(), "tokens drafted for this request", "tokens"),
        field("accepted_tokens", pa.int32(), "of these, accepted", "tokens"),
        field("largest_chunk", pa.int32(), "tokens of the largest stream chunk", "tokens"),
        field("correct", pa.bool_(), "graded correct; null where not graded"),
        field("outcome", pa.string(), "how the grade came about"),
        field("degenerate", pa.bool_(), "the answer is a repetition loop"),
        field("error", pa.string(), "why the request failed; null if it did not"),
        field("raw_file", pa.string(), "requests.parquet of the session, from the root"),
        field("raw_row", pa.int64(), "row in that file"),
    ]
)

SESSIONS = pa.schema(
    [
        field("study", pa.string(), "study"),
        field("arm", pa.string(), "served configuration"),
        field("seed", pa.int32(), "replicate"),
        field("session", pa.string(), "engine start"),
        field("engine", pa.string(), "engine entry of config/engines.yaml"),
        field("engine_version", pa.string(), "version that the engine itself states"),
        field("started_at", pa.timestamp("ms", tz="UTC"), "process start"),
        field("ready_after", pa.float64(), "process start to ready", "s"),
        field("order", pa.int32(), "position in the campaign's seeded order"),
        field("kv_pool_tokens", pa.int64(), "capacity of the KV pool", "tokens"),
        field("request_slots", pa.int32(), "requests that may run at once"),
        field("recurrent_slots", pa.int32(), "slots for linear-attention state"),
        field("model_memory", pa.float64(), "weights in memory, target and drafter", "GiB"),
        field("argv", pa.list_(pa.string()), "command line of the engine"),
        field("environment", pa.string(), "environment variables that matter, as JSON"),
        field("lock_sha256", pa.string(), "lock of the engine's environment"),
        field("target", pa.string(), "pin of the target"),
        field("drafter", pa.string(), "pin of the drafter"),
        field("gpu", pa.string(), "card, driver, limit and clocks, or why absent, as JSON"),
        field("host", pa.string(), "processor and load, as JSON"),
        field("commit", pa.string(), "commit of this repository that measured"),
        field("dirty", pa.string(), "sha256 of the uncommitted change, empty if none"),
        field(
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
        field("log_file", pa.string(), "server.log, from the repository root"),
        field("manifest_file", pa.string(), "manifest.json, from the repository root"),
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
}
