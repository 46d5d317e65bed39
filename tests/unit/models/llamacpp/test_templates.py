import pytest

from models.errors import TemplateFailed
from models.llamacpp.templates import CHATML, ChatTemplate
from models.messages import Role

U, A, S = Role.USER, Role.ASSISTANT, Role.SYSTEM


def test_contents_are_separate_from_the_templates_own_text() -> None:
    segments = ChatTemplate(CHATML).segments([S, U])
    assert [(s.text, s.message) for s in segments] == [
        ("<|im_start|>system\n", None),
        ("", 0),
        ("<|im_end|>\n<|im_start|>user\n", None),
        ("", 1),
        ("<|im_end|>\n<|im_start|>assistant\n", None),
    ]


def test_beginning_and_end_marks_are_given_to_the_template() -> None:
    source = "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}{{ eos_token }}"
    segments = ChatTemplate(source, bos="<s>", eos="</s>").segments([U])
    assert [s.text for s in segments] == ["<s>[", "", "]</s>"]


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('no') }}",
        "{% for m in messages %}{% endfor %}",
        "{{ messages[0].content }}",
        "{{ 1 / 0 }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ messages[-1].content }}{{ undefined.x.y }}",
        "{{ messages.append(1) }}",
        "{% for a in range(999999999) %}{% endfor %}",
    ],
)
def test_a_template_that_refuses_or_misbehaves_is_an_error(source: str) -> None:
    with pytest.raises(TemplateFailed):
        ChatTemplate(source).segments([U, A, U])


def test_a_template_that_does_not_compile_is_an_error() -> None:
    with pytest.raises(TemplateFailed):
        ChatTemplate("{% for %}")


def test_the_sandbox_keeps_the_interpreter_out_of_reach() -> None:
    source = "{{ cycler.__init__.__globals__.os.popen('id').read() }}{{ messages[-1].content }}"
    with pytest.raises(TemplateFailed):
        ChatTemplate(source).segments([U])
