"""Many upstreams and many callers for minutes, and what may not suffer from what."""
