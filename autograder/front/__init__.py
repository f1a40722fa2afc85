"""Front ends: they show verdicts and know no probe."""
