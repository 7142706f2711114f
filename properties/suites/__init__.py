"""The property suites: Hypothesis machines that drive the reference broker and decide claims."""
