"""The memory package: rooms, sessions and messages, and how they become a prompt.

Of the models package only `models.messages` and `models.ports` may be imported here.
"""
