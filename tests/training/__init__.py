"""What makes the shipped encoder."""
