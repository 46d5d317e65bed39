"""Settings: one definition each, from defaults, `config.toml` and the environment."""
