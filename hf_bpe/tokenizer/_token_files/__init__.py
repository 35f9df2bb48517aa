"""Files of token ids in the formats of trainers: encoded in parallel, resumably, and written atomically."""
