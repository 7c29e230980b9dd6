"""Environments: one per engine version, built from hashed locks."""
