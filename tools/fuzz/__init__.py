"""Fuzzing: readers of bytes, and atheris, which searches for bytes on which a reader fails."""
