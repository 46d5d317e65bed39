"""In-memory stand-ins for tests. They obey the same contract suites as the real ones."""

from memory.testing.clock import FakeClock
from memory.testing.context import InMemoryContext
from memory.testing.folding import CountingFolder
from memory.testing.sessions import InMemorySessionStore

__all__ = ["CountingFolder", "FakeClock", "InMemoryContext", "InMemorySessionStore"]
