"""Mutated runs, each with one event or one state altered, which trace validation must reject."""
