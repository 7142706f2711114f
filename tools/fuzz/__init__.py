"""Fuzzing: functions that must not fail on any bytes, and atheris, which looks for such bytes."""
