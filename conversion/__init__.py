"""File formats of other tools, each through `BPEModel`: one module a format; `formats` has the doors to all."""
