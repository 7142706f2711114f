"""Fuzzing: atheris searches for bytes on which one of the project's readers of bytes fails."""
