"""Claims and anomalies: catalogues, literal definitions, refinement, and property suites."""
