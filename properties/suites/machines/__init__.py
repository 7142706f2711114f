"""Hypothesis machines that the suites share: checked runs, a simulated cluster, failing leaders."""
