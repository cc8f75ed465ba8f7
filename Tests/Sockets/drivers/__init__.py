"""One client library each, unmodified, that follows streams through the gateway."""
