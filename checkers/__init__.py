"""The engines, the history analysis, the recorder of histories, reports and the command line."""
