"""Places at which text may be cut without changing its ids or counts."""
