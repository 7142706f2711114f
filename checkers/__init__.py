"""What hunts and reports: engines, history analysis, the recorder, reports, the command line."""
