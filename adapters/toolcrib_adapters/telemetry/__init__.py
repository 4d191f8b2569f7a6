"""What a running crib tells about itself: numbers for a monitoring system."""
