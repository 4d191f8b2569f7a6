"""What happens in the middle of a call: questions to its caller, its cancellation, tasks."""
