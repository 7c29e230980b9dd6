"""Verifies a study with code of its own: Python and pyarrow, nothing else of this repository."""
