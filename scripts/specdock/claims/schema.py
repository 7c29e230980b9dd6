"""The columns of the claims: levels, comparisons with verdicts, gates with outcomes."""

import pyarrow as pa

from specdock.columns import column

_INTERVAL = [
    column("value", pa.float64(), "point estimate"),
    column("low", pa.float64(), "lower end of the interval, null where none exists"),
    column("high", pa.float64(), "upper end of the interval, null where none exists"),
    column("spread", pa.float64(), "standard deviation of one run on the working scale"),
    column("basis", pa.string(), "between runs, within one run, or no interval"),
    column("method", pa.string(), "how the interval was made"),
    column("seeds", pa.int32(), "usable engine starts, those of the smaller arm in a comparison"),
]

ESTIMATES = pa.schema(
    [
        column("metric", pa.string(), "metric column of the cells"),
        column("arm", pa.string(), "arm"),
        column("scenario", pa.string(), "scenario"),
        *_INTERVAL,
        column("level", pa.float64(), "confidence level of the interval"),
        column("definition", pa.string(), "definition id of the metric"),
        column("unit", pa.string(), "unit of value, low and high"),
        column("requests", pa.int32(), "measured requests behind it"),
        column("cells", pa.list_(pa.string()), "fingerprints of the usable cells behind it"),
        column("synthetic", pa.bool_(), "dummy weights or imposed acceptance"),
        column("reason", pa.string(), "why there is no interval"),
    ]
)

COMPARISONS = pa.schema(
    [
        column("metric", pa.string(), "metric column of the cells"),
        column("arm", pa.string(), "arm"),
        column("against", pa.string(), "arm that it is compared with"),
        column("scenario", pa.string(), "scenario"),
        column("form", pa.string(), "ratio or difference"),
        *_INTERVAL,
        column("definition", pa.string(), "definition id of the metric"),
        column("band", pa.float64(), "inside it arms count as equal, fixed in config"),
        column("verdict", pa.string(), "better, worse, higher, lower, equivalent or undecided"),
        column("seeds_to_decide", pa.int32(), "seeds to add before it is decided, 0 if none"),
        column("outlook", pa.string(), "decided, reachable, too many seeds or unknowable"),
        column("cells", pa.list_(pa.string()), "cells of the arm"),
        column("against_cells", pa.list_(pa.string()), "cells of the other arm"),
        column("synthetic", pa.bool_(), "dummy weights or imposed acceptance in either arm"),
        column("reason", pa.string(), "why there is no interval"),
    ]
)

GATES = pa.schema(
    [
        column("gate", pa.string(), "id of the gate"),
        column("text", pa.string(), "the gate in words"),
        column("arm", pa.string(), "arm"),
        column("against", pa.string(), "arm that it is compared with, null for an absolute gate"),
        column("metric", pa.string(), "metric column of the cells"),
        column("scenario", pa.string(), "scenario"),
        column("kind", pa.string(), "at_least, at_most or no_worse_than"),
        column("threshold", pa.float64(), "as fixed in config"),
        column("form", pa.string(), "level, ratio or difference"),
        column("value", pa.float64(), "point estimate"),
        column("low", pa.float64(), "lower end of its interval"),
        column("high", pa.float64(), "upper end of its interval"),
        column("verdict", pa.string(), "passed, failed, not decidable or not run"),
        column("decided_by", pa.string(), "interval, point estimate only, or nothing"),
        column("margin_over_noise", pa.float64(), "distance from the threshold in half widths"),
        column("cells", pa.list_(pa.string()), "cells behind it, both arms"),
        column("synthetic", pa.bool_(), "dummy weights or imposed acceptance"),
    ]
)
