"""Everything that is killed. A new scenario is a small class, and a line here."""

from tests.security.crash import Scenario
from tests.security.scenarios.chatting import Chatting
from tests.security.scenarios.delegating import Delegating
from tests.security.scenarios.forgetting import Forgetting
from tests.security.scenarios.importing import Importing
from tests.security.scenarios.migrating import Migrating
from tests.security.scenarios.rekeying import Rekeying
from tests.security.scenarios.rewriting import Rewriting
from tests.security.scenarios.rooms import Moving, MovingDocuments
from tests.security.scenarios.secrets import ChangingPassphrase
from tests.security.scenarios.states import KeepingStates
from tests.security.scenarios.summarising import Summarising
from tests.security.scenarios.syncing import Syncing
from tests.security.scenarios.working import Working

SCENARIOS: tuple[type[Scenario], ...] = (
    Chatting,
    Importing,
    Forgetting,
    ChangingPassphrase,
    Migrating,
    Rewriting,
    Summarising,
    Working,
    KeepingStates,
    Moving,
    MovingDocuments,
    Rekeying,
    Delegating,
    Syncing,
)
