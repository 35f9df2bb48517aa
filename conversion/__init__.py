"""File formats of other tools, each through `BPEModel`: one module a format, a reader and a writer each."""
