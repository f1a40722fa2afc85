"""Two files a step: `<slug>.py` holds its probes, `<slug>.toml` checks, texts, misconceptions."""
