"""What comes from outside with a model: its template is a program, its header may lie."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from models.errors import TemplateFailed
from models.llamacpp import templates
from models.llamacpp.templates import ChatTemplate
from models.messages import Role

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


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    "work",
    [f"ChatTemplate({ENDLESS!r}).segments([Role.USER])", "3 ** 10**8"],
    ids=["a loop", "one operation that holds the interpreter's lock"],
)
def test_a_template_that_does_not_end_is_ended_with_its_process(work: str) -> None:
    code = (
        "from models.llamacpp import templates\n"
        "from models.messages import Role\n"
        "from models.llamacpp.templates import ChatTemplate\n"
        "templates.TIME_S = 0.2\n"
        "with templates.template_limits():\n"
        f"    {work}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=60, check=False)
    assert done.returncode in templates.ENDED


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and bounds it")
def test_a_template_that_takes_all_memory_is_an_error() -> None:
    growing = "{% set n = namespace(t='ab') %}{% for _ in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}"
    code = (
        "import resource\n"
        "from models.errors import TemplateFailed\n"
        "from models.messages import Role\n"
        "from models.llamacpp.templates import open_sizes, template_limits\n"
        "from models.llamacpp.templates import ChatTemplate\n"
        "open_sizes()\n"
        "try:\n"
        "    with template_limits():\n"
        f"        ChatTemplate({growing!r}).segments([Role.USER])\n"
        "except TemplateFailed as failure:\n"
        "    print(failure, resource.getrlimit(resource.RLIMIT_AS)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["MemoryError", str(resource.getrlimit(resource.RLIMIT_AS)[0])]


@pytest.mark.parametrize(
    "source",
    ["{{ 9 ** (9 ** 9) }}", "{{ 'a' * 10 ** 9 }}", "{{ 10 ** 9 * [0] }}", "{{ 9 ** 1000 * 9 ** 1000 }}"],
)
def test_numbers_and_texts_of_a_template_stay_small(source: str) -> None:
    with pytest.raises(TemplateFailed, match="too large"):
        ChatTemplate(source + "{{ messages[0].content }}").segments([Role.USER])


def test_a_template_may_calculate() -> None:
    source = "{{ 2 ** 10 }} {{ 3 * 'ab' }} {{ 1.5 * 2 }}{{ messages[0].content }}"
    assert ChatTemplate(source).segments([Role.USER])[0].text == "1024 ababab 3.0"


def test_messages_that_look_like_templates_are_text() -> None:
    template = ChatTemplate("{{ messages[0]['content'] }}{{ messages[1]['content'] }}")
    assert [segment.message for segment in template.segments(ROLES)] == [0, 1]
