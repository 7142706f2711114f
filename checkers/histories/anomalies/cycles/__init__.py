"""The query plans that find cycles of operations that depend on each other."""
