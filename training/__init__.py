"""Makes the encoder that the wheel carries; not installed."""
