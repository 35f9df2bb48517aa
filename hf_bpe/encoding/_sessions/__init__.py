"""Text that arrives or leaves in parts: sessions, streams, and prefix caches."""
