"""What every package may use, and that knows nothing of tokenizers: files, memory, progress, processes, arguments."""
