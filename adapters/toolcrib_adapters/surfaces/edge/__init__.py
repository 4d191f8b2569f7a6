"""The outer layers of the HTTP endpoint: who may come in, how much, and how it ends."""
