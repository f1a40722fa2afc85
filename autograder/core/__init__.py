"""The heart: subjects, probes, observations, comparison, diagnosis, verdict. It names no step."""
