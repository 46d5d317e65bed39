"""What is read out of a message, and what never is."""

from datetime import UTC, datetime

import pytest

from memory.learning.entities import Candidate, Utterance, found
from memory.learning.reader import asked_to_remember, read
from memory.memories.entities import MemoryKind, MemoryOrigin

SAID_AT = datetime(2026, 3, 4, 15, tzinfo=UTC)


def utterance(text: str) -> Utterance:
    return Utterance("m", "s", text, SAID_AT)


def learned(text: str) -> list[Candidate]:
    return [one for one in read(utterance(text)) if not one.only_ends]


@pytest.mark.parametrize(
    ("said", "kind", "text"),
    [
        ("I live in Tromsø.", MemoryKind.FACT, "I live in Tromsø."),
        ("I live in Leeds, what should I see there?", MemoryKind.FACT, "I live in Leeds."),
        ("Any ideas? I'm very allergic to soy, so be careful.", MemoryKind.FACT, "I'm very allergic to soy."),
        ("Quick note: I work as a welder at night.", MemoryKind.FACT, "I work as a welder at night."),
        ("I come from Cork, if that matters.", MemoryKind.FACT, "I come from Cork."),
        ("Since I'm vegan, what can I order?", MemoryKind.PREFERENCE, "I'm vegan."),
        ("Suggest a dinner, but I don't eat pork.", MemoryKind.PREFERENCE, "I don't eat pork."),
        ("I'd rather use Emacs than Notion.", MemoryKind.PREFERENCE, "I'd rather use Emacs than Notion."),
        ("Long meetings drain me.", MemoryKind.PREFERENCE, "Long meetings drain me."),
        ("We settled on cedar for the shed.", MemoryKind.DECISION, "We settled on cedar for the shed."),
        ("On 3 May I have an exam.", MemoryKind.EVENT, "On 3 May I have an exam."),
        ("I've handed in my notice.", MemoryKind.EVENT, "I've handed in my notice."),
        ("I was made redundant.", MemoryKind.EVENT, "I was made redundant."),
        ("We still don't know where to go.", MemoryKind.QUESTION, "We still don't know where to go."),
        (
            "To reset it, first unplug it, then wait and then press start.",
            MemoryKind.PROCEDURE,
            "To reset it, first unplug it, then wait and then press start.",
        ),
        ("Ich wohne in Graz.", MemoryKind.FACT, "Ich wohne in Graz."),
        ("Seit 2011 wohne ich in Graz.", MemoryKind.FACT, "Seit 2011 wohne ich in Graz."),
        ("Koriander mag ich nicht.", MemoryKind.PREFERENCE, "Koriander mag ich nicht."),
        ("Am 3. Mai heirate ich.", MemoryKind.EVENT, "Am 3. Mai heirate ich."),
        (
            "Wir nehmen Zedernholz für den Schuppen.",
            MemoryKind.DECISION,
            "Wir nehmen Zedernholz für den Schuppen.",
        ),
        ("Ich weiß noch nicht, ob ich umziehe.", MemoryKind.QUESTION, "Ich weiß noch nicht, ob ich umziehe."),
        ("Depuis 2011, j'habite à Brest.", MemoryKind.FACT, "Depuis 2011, j'habite à Brest."),
        ("Je ne mange jamais de foie.", MemoryKind.PREFERENCE, "Je ne mange jamais de foie."),
        ("C'est décidé : le bois de cèdre.", MemoryKind.DECISION, "C'est décidé : le bois de cèdre."),
        ("No me gusta el cilantro.", MemoryKind.PREFERENCE, "No me gusta el cilantro."),
        ("Por las mañanas tomo café solo.", MemoryKind.PREFERENCE, "Por las mañanas tomo café solo."),
        ("El 3 de mayo me caso.", MemoryKind.EVENT, "El 3 de mayo me caso."),
        ("能推荐一条路线吗？我现在住在成都。", MemoryKind.FACT, "我现在住在成都。"),
        ("我养了一只狗，叫饼干。", MemoryKind.FACT, "我养了一只狗，叫饼干。"),
        ("我对花生过敏，有什么可以吃？", MemoryKind.FACT, "我对花生过敏。"),
        ("比起茶，我更喜欢咖啡。", MemoryKind.PREFERENCE, "比起茶，我更喜欢咖啡。"),
        ("我们决定选橡木地板。", MemoryKind.DECISION, "我们决定选橡木地板。"),
        ("我还没想好要不要去大阪。", MemoryKind.QUESTION, "我还没想好要不要去大阪。"),
        ("Je suis végétarienne.", MemoryKind.PREFERENCE, "Je suis végétarienne."),
        ("Me encanta el flamenco.", MemoryKind.PREFERENCE, "Me encanta el flamenco."),
    ],
)
def test_what_people_tell_of_themselves(said: str, kind: MemoryKind, text: str) -> None:
    (one,) = learned(said)
    assert (one.kind, one.text) == (kind, text)
    assert found(one.quote, said)
    assert one.importance >= 0.5


@pytest.mark.parametrize(
    "said",
    [
        "Do I live in Leeds?",
        "Wohne ich in Graz?",
        "Ich wohne nicht in Graz.",
        "Als ob ich Museen mögen würde.",
        "Du bist jetzt Maja, eine Tischlerin aus Graz. Ich liebe Oliven.",
        "Meine Tante meint, ich soll nach Graz ziehen.",
        "Je ne suis pas infirmier.",
        "J'aimerais vivre à Brest.",
        "Disons que je suis infirmier à Brest.",
        "No soy enfermera.",
        "Me gustaría vivir en Bilbao.",
        "Mi tía cree que debo mudarme a Bilbao.",
        "我不住在成都。",
        "我住在哪里？",
        "如果我是护士，我会住在成都。",
        "我姐姐说她讨厌香菜。",
        "我最喜欢加班了，才怪呢。",
        "角色扮演：我是海盗，我讨厌香菜。",
        "翻译下面这段话：\n\n我是一名护士，住在成都。",
        "If I were a nurse, I would live in Cork.",
        "Imagine this. I live in Cork. I love rain.",
        "My sister says she hates olives.",
        "My father told me 'I live in Porto and I love it'.",
        '"I prefer tea", said my colleague.',
        "According to my doctor, I love salt.",
        "Pretend you are my boss. I work at Acme.",
        "Let's play a game: I'm a pirate and I hate fish.",
        "Oh sure, I just love long meetings. Not.",
        "I adore spreadsheets /s",
        "I love museums, just kidding.",
        "Please summarise this:\n> I live in Graz.\n> I have a cat called Otto.",
        "```\nI'm a nurse from Graz\n```",
        "From: Ann\nTo: all\n\nHi, I live in Leeds.",
        "Proofread this: I live in Leeds and I have a dog.",
        "Translate 'I live in Leeds' into Welsh.",
        "Write a poem in which I am a sailor from Cork.",
        "I don't live in Leeds.",
        "I'm not a nurse.",
        "I used to live in Leeds.",
        "I love it!",
        "I prefer the second version.",
        "I have a question about my code.",
        "I'm trying to install it but I get an error.",
        "Graz is a beautiful place.",
        "He lives in Graz.",
        "In this example we're starting a band.",
        "In my example, my name is Bob and I live in Cork.",
        "As an example, I'm a vegan.",
        "E.g. I live in Rome.",
        "To give an example, I live in Paris.",
        "Here's an example. I live in Rome. I work as a cook.",
        "Let me give you an example: I live in Rome. I work as a cook.",
        "Example: I live in Rome. I work as a cook.",
        "We're starting a band in this example.",
        "I live in Rome, for example.",
        "I'm a nurse in this scenario.",
        "In that scenario, we live in Rome. I work as a nurse.",
        "In this problem, I have three dogs.",
        "Suppose I lived in Rome.",
        "Suppose we're opening a café in Graz. I work there as a cook.",
        "In a hypothetical world I live on Mars.",
        "In a world where I live in Rome.",
        "In an ideal world I live in Rome.",
        "Consider a situation in which I live in Rome. My name is Ada.",
        "Picture me as a chef. I work in Paris.",
        "Theoretically, I work in Rome.",
        "For argument's sake, I'm a vegan.",
        "Por ejemplo, vivo en Roma.",
        "Dans cet exemple, j'habite à Rome.",
        "Zum Beispiel: ich wohne in Rom.",
    ],
)
def test_what_is_not_the_person_s_own_is_left_out(said: str) -> None:
    assert learned(said) == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("I live in Rome. For example, I love the Pantheon.", "I live in Rome."),
        ("Can you give me an example? I'm a vegan.", "I'm a vegan."),
        ("Thanks for the example! I live in Rome.", "I live in Rome."),
        ("In your example the man lives in Oslo. I live in Rome.", "I live in Rome."),
        ("For this problem I need help. I live in Rome.", "I live in Rome."),
        ("I love fruit, for example apples.", "I love fruit, for example apples."),
    ],
)
def test_who_speaks_of_an_example_still_speaks_of_herself(said: str, text: str) -> None:
    (one,) = learned(said)
    assert one.text == text


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        ("I live in Bergen and work as a nurse.", ["I live in Bergen.", "I work as a nurse."]),
        ("We live in Rome and have two cats.", ["We live in Rome.", "We have two cats."]),
        (
            "Hi! I'm Ada, live in Graz and now work for Acme.",
            ["I'm Ada.", "I live in Graz.", "I now work for Acme."],
        ),
        ("I'm living in Rome and working as a cook.", ["I'm living in Rome.", "I'm working as a cook."]),
        ("I was born in Oslo and live in Bergen.", ["I was born in Oslo.", "I live in Bergen."]),
        ("I work as a nurse and love long walks.", ["I work as a nurse.", "I love long walks."]),
        (
            "I'm vegetarian and my favourite colour is green.",
            ["I'm vegetarian.", "My favourite colour is green."],
        ),
        (
            "Ich wohne in Bremen und meine Lieblingsfarbe ist Blau.",
            ["Ich wohne in Bremen.", "Meine Lieblingsfarbe ist Blau."],
        ),
        (
            "My sister Clara lives in Graz and is allergic to nuts.",
            ["My sister Clara lives in Graz.", "My sister Clara is allergic to nuts."],
        ),
        (
            "My name is Anna and my sister Clara lives in Graz.",
            ["My name is Anna.", "My sister Clara lives in Graz."],
        ),
        ("I live in Leeds and is the museum open today?", ["I live in Leeds."]),
        (
            "My sister Maja lives in Oslo and works as a nurse.",
            ["My sister Maja lives in Oslo.", "My sister Maja works as a nurse."],
        ),
        ("I live and work in Rome.", ["I live and work in Rome."]),
        (
            "I live in Leeds with my partner Tomasz and my cat Ida.",
            [
                "I live in Leeds with my partner Tomasz and my cat Ida.",
                "My partner is Tomasz.",
                "My cat is Ida.",
            ],
        ),
        ("I have two brothers who live in Rome and work as cooks.", None),
        ("I want to move to Rome and work as a nurse.", None),
        ("I decided to move to Oslo and start a choir.", None),
        ("I love to read and play chess.", None),
        ("I don't eat meat and drink no wine.", None),
        ("I like tea and coffee.", None),
    ],
)
def test_two_statements_with_one_subject_are_two_memories(said: str, texts: list[str] | None) -> None:
    made = learned(said)
    assert all(found(one.quote, said) for one in made)
    assert [one.text for one in made] == (texts if texts is not None else [said])


def test_she_is_who_was_spoken_of() -> None:
    made = learned("My sister's name is Maja. She works as a nurse, and Maja lives in Oslo. I miss her.")
    assert [(one.subject, one.text) for one in made] == [
        ("my sister", "My sister's name is Maja."),
        ("my sister Maja", "My sister Maja works as a nurse."),
        ("my sister Maja", "My sister Maja lives in Oslo."),
    ]
    assert made[1].quote == "She works as a nurse"


def test_code_is_kept_with_what_it_is_for() -> None:
    said = "This is my script for backups:\n```sh\ncp -r a b\n```\nThanks!"
    (one,) = learned(said)
    assert (one.kind, one.subject) == (MemoryKind.CODE, "backups")
    assert one.text == "This is my script for backups:\n```sh\ncp -r a b\n```"
    assert learned("Why does my script for backups fail?\n```sh\ncp\n```") == []


def test_a_list_of_steps_is_one_procedure() -> None:
    (one,) = learned("My recipe for bread:\n1. mix flour and water\n2. then wait a day\n3. bake it\n")
    assert one.kind is MemoryKind.PROCEDURE
    assert "bake it" in one.text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Remember that the bins go out on Thursday.", "The bins go out on Thursday."),
        ("Please remember: blue gate.", "Blue gate."),
        ("Hi! Don't forget that my locker is 14B.", "My locker is 14B."),
        ("Could you remember that my cat is called Pim?", "My cat is called Pim."),
        ("Please bear in mind for later: I'm left-handed.", "I'm left-handed."),
        ("Make sure you remember my badge is 77.", "My badge is 77."),
        ("Merk dir, der Code ist 7781.", "Der Code ist 7781."),
    ],
)
def test_what_is_to_be_remembered_is_the_person_s(said: str, text: str) -> None:
    (one,) = asked_to_remember(utterance(said))
    assert (one.text, one.origin, one.confidence) == (text, MemoryOrigin.PERSON, 1.0)


def test_two_things_to_be_remembered_are_two_memories() -> None:
    made = asked_to_remember(utterance("Remember that I live in Bergen and work as a nurse."))
    assert [(one.text, one.origin) for one in made] == [
        ("I live in Bergen.", MemoryOrigin.PERSON),
        ("I work as a nurse.", MemoryOrigin.PERSON),
    ]


@pytest.mark.parametrize(
    "said",
    [
        "Remember when we met?",
        "Do you remember that song?",
        "Can you remember that I told you of the boat?",
        "Remember me.",
        "Remember to smile.",
    ],
)
def test_not_every_remembering_is_a_wish(said: str) -> None:
    assert asked_to_remember(utterance(said)) == []


@pytest.mark.parametrize(
    ("said", "since"),
    [
        ("I'm flying to Oslo on 3 May.", datetime(2026, 5, 3, tzinfo=UTC)),
        ("On 8 January I have an exam.", datetime(2027, 1, 8, tzinfo=UTC)),
        ("On 8 January we're flying to Cork.", datetime(2027, 1, 8, tzinfo=UTC)),
        ("On Friday I'm meeting my sister in Cork.", datetime(2026, 3, 6, tzinfo=UTC)),
        ("Yesterday I got back from Cork.", datetime(2026, 3, 3, tzinfo=UTC)),
        ("Tomorrow I have an interview at Acme.", datetime(2026, 3, 5, tzinfo=UTC)),
        ("I live in Cork.", SAID_AT),
    ],
)
def test_when_it_holds(said: str, since: datetime) -> None:
    (one,) = learned(said)
    assert one.valid_from == since


LETTER = """Sehr geehrte Frau Lind,

ich wohne seit dem 1. August in Kassel. Ich habe eine Katze und bin allergisch gegen Penicillin.
"""
LEASE = "\n".join(
    f"{number}. The tenancy begins on 1 March 2026. "
    + "The tenant pays the rent on the first day of a month. " * 5
    for number in range(1, 9)
)


@pytest.mark.parametrize(
    "said",
    [
        f"Can you translate this letter for me?{LETTER}",
        f"What does this say?\n\n{LETTER}",
        "What does he want?\n\nI live in Kassel and have a cat.\n\nMit freundlichen Grüßen\nBernd Berg",
        "I have moved to Kassel.\n\nKind regards,\nBernd Berg",
        "Please check my text\nI live in Kassel, and I am allergic to nuts.",
        "Kannst du mir diesen Brief übersetzen\nIch wohne in Kassel.",
        f"{LEASE}\n\nWhen can I move in?",
    ],
)
def test_a_letter_or_a_contract_is_not_about_the_person_who_pastes_it(said: str) -> None:
    assert learned(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "Dear Atlas,\nI live in Leeds.",
        "Facts about me:\n"
        + "\n".join(f"{at}. I love walking in park {at} with our dog Rex." for at in range(2, 40)),
        "I wrote a letter yesterday. I live in Leeds.",
    ],
)
def test_what_looks_like_a_letter_may_be_the_persons_own(said: str) -> None:
    assert learned(said)
