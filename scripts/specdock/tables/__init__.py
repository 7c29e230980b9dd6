"""Tables: raw sessions become typed Parquet, one file a kind of row."""
