"""The memory package: rooms, sessions and messages, and how they become a prompt.

Of the models package it may import only `models.messages`, `models.ports` and `models.confinement`.
"""
