"""Files of token ids in the formats of trainers: encoded in parallel, resumably, and written atomically.

Sources become pieces on disk, in any order. The pieces in their order are one stream of ids, which packing cuts into
rows, and rows fill shards. A format is a writer of rows that knows nothing else.
"""
