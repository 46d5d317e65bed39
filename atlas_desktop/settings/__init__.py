"""Settings: one definition each, with values from defaults, `config.toml` and the environment."""
