"""Grades: whether an answer is right, and whether it is an answer or a loop."""
