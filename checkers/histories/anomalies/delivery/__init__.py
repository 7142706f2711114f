"""What each application was delivered again, and what it skipped."""
