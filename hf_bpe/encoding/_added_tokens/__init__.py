"""Added tokens: the rules by which text is split at them, and the search for them."""
