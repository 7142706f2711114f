"""What must come before what, and cannot."""
