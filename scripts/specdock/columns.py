"""A column of a Parquet file that explains itself."""

import pyarrow as pa


def column(name: str, kind: pa.DataType, description: str, unit: str = "") -> pa.Field:
    """A nullable Arrow field whose metadata says what it means and in which unit."""
    return pa.field(name, kind, metadata={"description": description, "unit": unit})
