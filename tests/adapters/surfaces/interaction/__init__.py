"""Tests of what happens in the middle of a call."""
