"""Claims, anomalies, refinement and property suites: catalogues and literal definitions."""
