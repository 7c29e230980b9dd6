"""Workloads: data sets become the prompts of a cell."""
