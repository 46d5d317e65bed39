"""Skills of a room: approved, used in turns, rolled back, drafted, imported, exported, removed."""

from datetime import timedelta
from pathlib import Path

import pytest

from atlas_desktop.services.turns import TurnOptions
from memory.entities import MemoryMode, Target
from memory.errors import (
    MessageNotFound,
    SkillHasNoDraft,
    SkillInvalid,
    SkillNameTaken,
    SkillNotFound,
    SkillVersionNotFound,
)
from memory.memories.entities import (
    MemoryKind,
    MemoryOrigin,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from memory.skills.entities import NewSkill, SkillAuthor, SkillState, SkillText, Verdict
from models.messages import ChatMessage, Lane, Role
from tests.fakes.models import ScriptedChatModel
from tests.unit.services.scene import Scene

NAME, WHAT = "pack-for-sailing", "How to pack for a weekend of sailing."
BODY = "1. Read the forecast.\n2. Pack two ropes.\n"
ASKED = "How do I pack for a weekend of sailing?"


async def proposed(scene: Scene, body: str = BODY) -> str:
    made = await scene.room.skills.propose(NewSkill(NAME, SkillText(WHAT, body), SkillAuthor.IMPORT))
    assert made is not None
    return made.id


def told(scene: Scene) -> str:
    """What the chat was given last, as one text."""
    return "\n".join(message.content for message in prompts(scene)[-1])


def prompts(scene: Scene) -> list[tuple[ChatMessage, ...]]:
    pairs = zip(scene.model.prompts, scene.model.lanes, strict=True)
    return [prompt for prompt, lane in pairs if lane is Lane.CHAT]


# --- approval ---------------------------------------------------------------------------------------


async def test_a_draft_does_nothing_before_it_is_approved() -> None:
    scene = Scene()
    skill = await proposed(scene)
    replied, _ = await scene.say(ASKED)
    assert replied.skills == ()
    assert "ropes" not in told(scene)
    await scene.room.skills.approve(skill)
    replied, _ = await scene.say(ASKED)
    assert [(one.name, one.version) for one in replied.skills] == [(NAME, 1)]
    assert "2. Pack two ropes." in told(scene)
    assert f"- {NAME}: {WHAT}" in told(scene)
    assert (await scene.room.skills.get(skill)).uses == 1


async def test_what_the_user_writes_is_approved_by_that() -> None:
    scene = Scene()
    made = await scene.room.skills.new(NAME, WHAT, BODY)
    assert (made.state, made.version) == (SkillState.APPROVED, 1)
    edited = await scene.room.skills.edit(NAME, body=BODY.replace("two", "three"))
    assert (edited.state, edited.version, edited.pending) == (SkillState.APPROVED, 2, None)
    draft = await scene.room.skills.new("a-draft", "x", "y", draft=True)
    assert (await scene.room.skills.edit(draft.id, body="z")).state is SkillState.DRAFT


async def test_a_version_by_others_waits_beside_the_one_in_use() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    skill = await proposed(scene, "1. Pack nothing.\n")
    now = await scene.room.skills.get(skill)
    assert (now.state, now.version, now.pending, now.body) == (SkillState.APPROVED, 1, 2, BODY)
    (waits,) = await scene.room.skills.drafts()
    assert (waits.state, waits.version, waits.body) == (SkillState.DRAFT, 2, "1. Pack nothing.\n")
    diff = await scene.room.skills.diff(skill)
    assert "+1. Pack nothing." in diff
    assert "-2. Pack two ropes." in diff
    left = await scene.room.skills.reject(skill)
    assert left is not None
    assert left.pending is None
    with pytest.raises(SkillHasNoDraft):
        await scene.room.skills.reject(skill)
    with pytest.raises(SkillHasNoDraft):
        await scene.room.skills.approve(skill)


async def test_editing_a_draft_leaves_the_version_in_use_alone() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    skill = await proposed(scene, "1. Pack nothing.\n")
    edited = await scene.room.skills.edit_draft(skill, "1. Pack little.")
    assert (edited.state, edited.version, edited.body) == (SkillState.APPROVED, 1, BODY)
    (waits,) = await scene.room.skills.drafts()
    assert waits.body == "1. Pack little.\n"
    assert (await scene.room.skills.approve(skill)).body == "1. Pack little.\n"
    with pytest.raises(SkillHasNoDraft):
        await scene.room.skills.edit_draft(skill, "x")


async def test_ten_versions_are_kept_and_an_earlier_one_can_be_used_again() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, "1. Begin.")
    for number in range(2, 15):
        await scene.room.skills.edit(NAME, body=f"{number}. Begin.")
    assert [one.version for one in await scene.room.skills.versions(NAME)] == list(range(14, 4, -1))
    back = await scene.room.skills.roll_back(NAME)
    assert (back.version, back.body) == (13, "13. Begin.\n")
    assert (await scene.room.skills.roll_back(NAME, 5)).body == "5. Begin.\n"
    with pytest.raises(SkillVersionNotFound):
        await scene.room.skills.roll_back(NAME, 4)
    # The version in use is kept, however old.
    for number in range(15, 30):
        await scene.room.skills.edit(NAME, body=f"{number}. Begin.")
    await scene.room.skills.roll_back(NAME, 20)
    assert (await scene.room.skills.edit(NAME, body="x")).version == 30


async def test_a_version_that_waits_is_never_rolled_back_to() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    skill = await proposed(scene, "1. Pack nothing.\n")
    with pytest.raises(SkillVersionNotFound):
        await scene.room.skills.roll_back(skill, 2)


async def test_a_retired_skill_is_kept_and_not_used() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    await scene.room.skills.retire(NAME)
    assert (await scene.say(ASKED))[0].skills == ()
    assert (await scene.room.skills.approve(NAME)).state is SkillState.APPROVED


async def test_names_are_unique_and_checked() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    with pytest.raises(SkillNameTaken):
        await scene.room.skills.new(NAME, WHAT, BODY)
    with pytest.raises(SkillInvalid):
        await scene.room.skills.new("Not a name", WHAT, BODY)
    other = await scene.room.skills.new("other", WHAT, BODY)
    with pytest.raises(SkillNameTaken):
        await scene.room.skills.edit(other.id, name=NAME)
    with pytest.raises(SkillNotFound):
        await scene.room.skills.get("nothing")


async def test_a_skill_whose_text_is_still_to_arrive_keeps_its_name() -> None:
    """A folder that is copied in parts brings the name first."""
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    await scene.store._database.write(lambda conn: conn.execute("DELETE FROM skill_versions"))
    assert await scene.room.skills.list() == []
    with pytest.raises(SkillNameTaken):
        await scene.room.skills.new(NAME, WHAT, BODY)


# --- in a turn --------------------------------------------------------------------------------------


async def test_a_skill_is_not_used_where_it_does_not_fit_or_without_memory() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    assert (await scene.say("What is the capital of France?"))[0].skills == ()
    assert (await scene.say("Thanks!"))[0].skills == ()
    blank = TurnOptions(memory_mode=MemoryMode.BLANK)
    replied, _ = await scene.say(ASKED, options=blank)
    assert replied.skills == ()
    assert NAME not in told(scene)


async def test_the_body_is_given_once_in_a_prompt_and_stays_appended() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    first, _ = await scene.say(ASKED)
    before = prompts(scene)[-1]
    second, _ = await scene.say(ASKED.replace("weekend", "long weekend"), first.session)
    assert [one.name for one in second.skills] == [NAME]
    assert told(scene).count("Pack two ropes") == 1
    assert list(prompts(scene)[-1][: len(before)]) == list(before)
    assert {tier.tier for tier in second.context} >= {"skill", "user"}
    assert sum(tier.tokens for tier in second.context) == second.completion.timings.prompt_tokens


async def test_a_reply_that_is_made_again_uses_the_same_skill() -> None:
    scene = Scene()
    skill = await scene.room.skills.new(NAME, WHAT, BODY)
    first, _ = await scene.say(ASKED)
    await scene.room.skills.edit(skill.id, body="1. Pack nothing.")
    events = await scene.run(scene.room.chat.regenerate(first.session.id))
    again = events[-1]
    assert getattr(again, "skills", None) is not None
    assert [(one.name, one.version) for one in again.skills] == [(NAME, 1)]  # type: ignore[union-attr]
    assert "Pack two ropes" in told(scene)


async def test_a_changed_set_is_in_the_head_of_the_next_session_and_used_at_once() -> None:
    scene = Scene()
    first, _ = await scene.say("Tell me something about owls, please.")
    await scene.room.skills.new(NAME, WHAT, BODY)
    second, _ = await scene.say(ASKED, first.session)
    assert [one.name for one in second.skills] == [NAME]
    assert f"- {NAME}: " not in told(scene)
    await scene.say("Tell me something about owls, please.")
    assert f"- {NAME}: " in told(scene)


async def test_a_skill_that_does_not_fit_into_the_context_is_not_used_and_says_so() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, "pack this " * 9_000)
    replied, notices = await scene.say(ASKED)
    assert replied.skills == ()
    assert "skill_too_long" in [one.code for one in notices]


# --- help and harm ----------------------------------------------------------------------------------


async def test_agreement_counts_as_help_and_a_verdict_replaces_it() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, BODY)
    first, _ = await scene.say(ASKED)
    await scene.say("Yes, exactly, that is what I wanted.", first.session)
    assert (await scene.room.skills.get(NAME)).helped == 1
    await scene.room.skills.judge(first.message.id, Verdict.HARMED)
    now = await scene.room.skills.get(NAME)
    assert (now.helped, now.harmed, now.should_retire) == (0, 1, False)
    second, _ = await scene.say(ASKED)
    await scene.room.skills.judge(second.message.id, Verdict.HARMED)
    assert (await scene.room.skills.get(NAME)).should_retire
    await scene.room.skills.judge(second.message.id, None)
    assert not (await scene.room.skills.get(NAME)).should_retire
    with pytest.raises(MessageNotFound):
        await scene.room.skills.judge("0192", Verdict.HELPED)


# --- drafts -----------------------------------------------------------------------------------------


async def how_to(scene: Scene, state: MemoryState = MemoryState.KEPT) -> tuple[str, str]:
    replied, _ = await scene.say("I always send the invoice on Friday and attach the timesheet as a PDF.")
    message = (await scene.store.branch(replied.session.id))[0]
    memory = await scene.store.memories.add(
        NewMemory(
            kind=MemoryKind.PROCEDURE,
            text="Send the invoice on Friday. Attach the timesheet as a PDF.",
            origin=MemoryOrigin.PATTERN,
            tier=MemoryTier.PROCEDURAL,
            state=state,
            sources=(MemorySource(message.id, replied.session.id, "send the invoice on Friday"),),
        )
    )
    return memory.id, message.id


async def test_a_how_to_that_was_accepted_becomes_a_draft_with_its_source() -> None:
    scene = Scene()
    memory, _message = await how_to(scene)
    await how_to(scene, MemoryState.INBOX)
    assert (await scene.room.background.run()).failed == 0
    (draft,) = await scene.room.skills.drafts()
    assert draft.author is SkillAuthor.ATLAS
    assert draft.body == "1. Send the invoice on Friday.\n2. Attach the timesheet as a PDF.\n"
    assert [one.id for one in draft.sources] == [memory]
    await scene.room.skills.reject(draft.id)
    scene.clock.advance(timedelta(days=2))
    await scene.room.background.run()
    assert await scene.room.skills.drafts() == []


async def test_a_request_made_three_times_becomes_a_draft_of_the_users_own_words() -> None:
    scene = Scene(model=ScriptedChatModel(["Here is the secret recipe of the model."] * 20))
    for month in ("May", "June", "July"):
        first, _ = await scene.say(f"Write the monthly report for the sailing club for {month}, please")
        await scene.say("Keep it under one page.", first.session)
    await scene.room.background.run()
    (draft,) = await scene.room.skills.drafts()
    assert "Keep it under one page." in draft.body
    assert "secret recipe" not in draft.body
    said = [one for source in draft.sources for one in await scene.store.variants(source.id)]
    assert len(said) == 6
    assert {one.role for one in said} == {Role.USER}


async def test_replies_that_were_made_again_and_sessions_without_memory_are_no_evidence() -> None:
    scene = Scene()
    for month in ("May", "June"):
        await scene.say(f"Write the monthly report for the sailing club for {month}, please")
    third, _ = await scene.say("Write the monthly report for the sailing club for July, please")
    await scene.run(scene.room.chat.regenerate(third.session.id))
    reads = TurnOptions(memory_mode=MemoryMode.READS)
    await scene.say("Write the monthly report for the sailing club for August, please", options=reads)
    await scene.room.background.run()
    assert await scene.room.skills.drafts() == []


async def test_instructions_in_a_document_make_no_skill(tmp_path: Path) -> None:
    scene = Scene()
    for number in range(3):
        file = tmp_path / f"{number}.md"
        file.write_text(f"Skill {number}: always write the report like this, please.", encoding="utf-8")
        await scene.room.documents.add([file])
    await scene.room.background.run()
    assert await scene.room.skills.list() == []


async def test_nothing_is_drafted_where_learning_is_off() -> None:
    scene = Scene({"memory": {"learn": "off"}})
    await how_to(scene)
    await scene.room.background.run()
    assert await scene.room.skills.drafts() == []


# --- forgetting -------------------------------------------------------------------------------------


async def test_a_draft_is_forgotten_with_its_sources_even_if_it_is_approved() -> None:
    scene = Scene()
    memory, message = await how_to(scene)
    await scene.room.background.run()
    (draft,) = await scene.room.skills.drafts()
    await scene.room.skills.approve(draft.id)
    affected = await scene.store.forget(Target(ids=(message,)))
    assert affected.erased.verified
    assert await scene.room.skills.list() == []
    assert memory not in await scene.store.skills.drafted_from()


async def test_a_version_that_the_user_wrote_stays_when_the_source_of_an_earlier_one_is_forgotten() -> None:
    scene = Scene()
    memory, _message = await how_to(scene)
    await scene.room.background.run()
    (draft,) = await scene.room.skills.drafts()
    await scene.room.skills.approve(draft.id)
    await scene.room.skills.edit(draft.id, body="1. Do it by hand.")
    assert (await scene.store.forget(Target(ids=(memory,)))).erased.verified
    (left,) = await scene.room.skills.list()
    assert (left.body, left.version) == ("1. Do it by hand.\n", 2)
    assert [one.version for one in await scene.room.skills.versions(left.id)] == [2]


async def test_a_draft_goes_with_any_of_its_sources() -> None:
    scene = Scene()
    sessions = []
    for month in ("May", "June", "July"):
        first, _ = await scene.say(f"Write the monthly report for the sailing club for {month}, please")
        sessions.append(first.session.id)
    await scene.room.background.run()
    (draft,) = await scene.room.skills.drafts()
    await scene.room.skills.approve(draft.id)
    assert (await scene.store.erase_session(sessions[0])).verified
    assert await scene.room.skills.list() == []


async def test_forgetting_by_words_removes_the_skills_that_have_them() -> None:
    scene = Scene()
    await scene.room.skills.new(NAME, WHAT, "1. Pack Zephyrcoat.")
    await scene.room.skills.new("other", "Something else.", "1. Do it.")
    await scene.say(ASKED)
    affected = await scene.store.forget(Target(about="Zephyrcoat"))
    assert affected.erased.verified
    assert [one.name for one in await scene.room.skills.list()] == ["other"]


async def test_removing_a_skill_takes_it_out_of_prompts() -> None:
    scene = Scene()
    skill = await scene.room.skills.new(NAME, WHAT, BODY)
    replied, _ = await scene.say(ASKED)
    await scene.room.remove_skill(skill.id)
    await scene.say("And then, please?", replied.session)
    assert "ropes" not in told(scene)
    assert NAME not in told(scene)
    assert await scene.room.skills.used_in(replied.message.id) == ()


# --- files ------------------------------------------------------------------------------------------


def skill_file(folder: Path, name: str, body: str = BODY) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: {WHAT}\nlicense: MIT\n---\n\n{body}", encoding="utf-8")
    return file


async def test_folders_of_skills_go_in_as_drafts_and_come_out_as_they_were(tmp_path: Path) -> None:
    scene = Scene()
    files = {name: skill_file(tmp_path / "in" / name, name) for name in ("one", "two")}
    (tmp_path / "in" / "one" / "run.sh").write_text("rm -rf /", encoding="utf-8")
    (tmp_path / "in" / "three").mkdir()
    (tmp_path / "in" / "three" / "SKILL.md").write_text("no front matter", encoding="utf-8")
    report = await scene.room.skill_folders.take([tmp_path / "in"])
    assert len(report.skills) == 2
    assert sorted(Path(one.where).name for one in report.skipped) == ["SKILL.md", "run.sh"]
    assert {one.state for one in await scene.room.skills.list()} == {SkillState.DRAFT}
    again = await scene.room.skill_folders.take([tmp_path / "in"])
    assert (again.skills, again.unchanged) == ([], 2)
    for one in await scene.room.skills.list():
        await scene.room.skills.approve(one.id)
    written = await scene.room.skill_folders.write(tmp_path / "out")
    assert len(written.written) == 2
    for name, file in files.items():
        assert (tmp_path / "out" / name / "SKILL.md").read_bytes() == file.read_bytes()
    assert (await scene.room.skill_folders.write(tmp_path / "out")).unchanged == 2


async def test_a_file_that_differs_is_not_overwritten(tmp_path: Path) -> None:
    scene = Scene()
    await scene.room.skills.new("one", WHAT, BODY)
    file = skill_file(tmp_path / "one", "one", "Mine.")
    before = file.read_bytes()
    report = await scene.room.skill_folders.write(tmp_path)
    assert [one.where for one in report.skipped] == [str(file)]
    assert file.read_bytes() == before


async def test_a_link_is_not_followed(tmp_path: Path) -> None:
    scene = Scene()
    secret = tmp_path / "secret.md"
    secret.write_text("---\nname: a\ndescription: b\n---\nc", encoding="utf-8")
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "in" / "a" / "SKILL.md").symlink_to(secret)
    report = await scene.room.skill_folders.take([tmp_path / "in"])
    assert report.skills == []
    assert len(report.skipped) == 1


async def test_a_retired_skill_that_is_used_again_keeps_its_version_and_its_waiting_one() -> None:
    scene = Scene()
    skills = scene.room.skills
    made = await skills.new(NAME, WHAT, BODY)
    await proposed(scene, "1. Sell the boat.\n")
    await skills.retire(made.id)
    again = await skills.use_again(made.id)
    assert (again.state, again.version, again.body) == (SkillState.APPROVED, 1, BODY)
    assert [one.body for one in await skills.drafts()] == ["1. Sell the boat.\n"]
