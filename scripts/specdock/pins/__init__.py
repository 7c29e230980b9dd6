"""Pins: models and data sets by hash, fetched and re-hashed."""
