"""Parts of a corpus that several jobs encode: which sources each has, and the manifest of the whole."""
