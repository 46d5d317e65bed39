"""What comes from outside with a model: its template is a program, its header may lie."""

import subprocess
import sys
from pathlib import Path

import pytest

from models.errors import TemplateFailed
from models.messages import Role
from models.templates import ChatTemplate
from models.time_limit import EXIT_TEMPLATE

ROOT = Path(__file__).resolve().parents[2]
ROLES = (Role.SYSTEM, Role.USER)

ESCAPES = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ messages.__class__ }}{{ messages.__init__.__globals__ }}",
    "{{ cycler.__init__.__globals__.os.system('true') }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ self.__init__.__globals__ }}{{ messages.append(1) }}",
    "{{ messages.append(messages[0]) }}",
    "{{ strftime_now.__globals__ }}",
    "{{ raise_exception.__globals__['secrets'] }}",
    "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "{{ ('%s' | attr('__class__')) }}{{ messages | attr('pop') }}{{ messages.pop() }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.name }}",
    "{% extends '/etc/hostname' %}",
    "{{ range(999999999) | list }}",
)


@pytest.mark.parametrize("source", ESCAPES)
def test_a_template_reaches_nothing_and_changes_nothing(source: str) -> None:
    shows = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    try:
        made = ChatTemplate(source + shows).segments(ROLES)
    except TemplateFailed:
        return
    # What the sandbox lets pass is an undefined value, which says nothing.
    assert [segment.text for segment in made if segment.message is None] == []


def test_a_template_that_does_not_end_is_ended_with_its_process() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from models import time_limit\n"
        "from models.messages import Role\n"
        "from models.templates import ChatTemplate\n"
        "time_limit.TEMPLATE_LIMIT_S = 0.2\n"
        "loop = '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}'\n"
        "with time_limit.time_limit():\n"
        "    ChatTemplate(loop).segments([Role.USER])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, check=False)
    assert done.returncode == EXIT_TEMPLATE


def test_messages_that_look_like_templates_are_text() -> None:
    template = ChatTemplate("{{ messages[0]['content'] }}{{ messages[1]['content'] }}")
    assert [segment.message for segment in template.segments(ROLES)] == [0, 1]
