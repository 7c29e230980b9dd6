"""A request's row survives its file, and its columns explain themselves."""

from dataclasses import fields

import pyarrow.parquet as pq

from specdock.runs.requests import REQUEST_SCHEMA, RequestRow, as_table

CELL = {"cell": "c" * 16, "arm": "ngram", "scenario": "essays@1", "seed": 1, "session": "s"}
ROW = RequestRow(
    phase="measured",
    request=0,
    stream=0,
    prompt_id="p0",
    category=None,
    body='{"messages":[]}',
    prompt_sha256="00",
    prompt_hash_of="messages",
    t_enqueue=0.0,
    t_send=0.001,
    t_first=0.1,
    t_last=0.2,
    t_end=0.21,
    chunk_times=[0.1, 0.2],
    chunk_tokens=[1, -1],
    text="é",
    completion_tokens=2,
)


def test_a_row_has_every_column_but_those_of_the_cell():
    assert {*CELL, *(field.name for field in fields(RequestRow))} == set(REQUEST_SCHEMA.names)


def test_rows_come_back_from_parquet_as_they_were(tmp_path):
    table = as_table([ROW], **CELL)
    pq.write_table(table, tmp_path / "requests.parquet", compression="zstd")
    back = pq.read_table(tmp_path / "requests.parquet")
    assert [f.metadata for f in back.schema] == [f.metadata for f in REQUEST_SCHEMA]
    (row,) = back.cast(REQUEST_SCHEMA).to_pylist()
    assert row == CELL | {field.name: getattr(ROW, field.name) for field in fields(RequestRow)}


def test_a_cell_without_rows_is_still_a_table():
    assert as_table([], **CELL).schema == REQUEST_SCHEMA


def test_every_column_says_what_it_means_and_times_their_unit():
    for column in REQUEST_SCHEMA:
        assert column.metadata[b"description"]
        if column.name.startswith("t_"):
            assert column.metadata[b"unit"] == b"s"
