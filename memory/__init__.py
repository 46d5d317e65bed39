"""The memory package: rooms, sessions and messages, and how they become a prompt.

Of the models package only `models.messages`, `models.ports` and `models.confinement` may be imported here.
"""
