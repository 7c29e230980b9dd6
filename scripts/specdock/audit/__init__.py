"""Audit: a study's files sealed, its numbers traced, its run exported."""
