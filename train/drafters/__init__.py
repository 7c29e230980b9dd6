"""Drafters for one target: how they look, how they are trained, how much of a draft is accepted."""
