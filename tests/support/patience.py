"""The time that tests wait for what may hang."""

PATIENCE = 600
"""Seconds after which a process that has not ended fails its test; slow or busy machines need a fraction of it."""
