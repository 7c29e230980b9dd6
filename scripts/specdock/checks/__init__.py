"""Checks: every arm is judged by its own engine before a card is touched."""
