"""One pair of files a step: `<slug>.py` holds its probes, `<slug>.toml` its checks, texts and misconceptions."""
