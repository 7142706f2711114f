"""Contains the engines, the analysis of histories, the recorder of histories, the reports and the
command line.
"""
