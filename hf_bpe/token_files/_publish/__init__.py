"""Token files, written shard by shard and put in the place of older ones."""
