"""Where else the words stand that are forgotten: what is said of forks, and of what only looks alike."""

from memory.entities import Copy, SessionPatch, Target
from memory.storage.store import Store
from tests.contract.talk import assistant, begin, texts, user

CODE = "My bicycle lock code is 4471"
REPLY = "Noted: the code of the lock of your bicycle is 4471."


async def test_what_a_fork_repeats_is_said_before_and_after(store: Store) -> None:
    session, said = await begin(store, CODE)
    reply = await store.append_message(session.id, assistant(REPLY))
    fork = await store.fork_session(session.id, reply.id, "A chat (2)")
    other, _ = await begin(store, "My bicycle lock code is 4472")
    target = Target(messages=(said.id, reply.id))
    tried = await store.forget(target, dry_run=True)
    assert tried.erased.copies == (Copy(fork.id, "A chat (2)"),)
    done = await store.forget(target)
    assert (done.erased.copies, done.erased.verified) == (tried.erased.copies, True)
    assert texts(await store.branch(fork.id)) == [CODE, REPLY]
    assert texts(await store.branch(other.id)) == ["My bicycle lock code is 4472"]
    again = [one.id for one in await store.branch(fork.id)]
    assert (await store.forget(Target(messages=tuple(again)))).erased.copies == ()


async def test_one_in_the_bin_counts_and_one_that_goes_along_does_not(store: Store) -> None:
    session, said = await begin(store, CODE)
    fork = await store.fork_session(session.id, said.id, "A fork")
    binned = await store.fork_session(session.id, said.id, "Binned")
    await store.bin_session(binned.id)
    done = await store.forget(Target(sessions=(session.id, fork.id)))
    assert done.erased.copies == (Copy(binned.id, "Binned", binned=True),)
    assert (await store.erase_session(binned.id)).copies == ()


async def test_erasing_a_session_tells_of_its_fork(store: Store) -> None:
    session, said = await begin(store, CODE)
    fork = await store.fork_session(session.id, said.id, "A fork")
    assert (await store.erase_session(session.id)).copies == (Copy(fork.id, "A fork"),)
    assert (await store.forget(Target(everything=True))).erased.copies == ()


async def test_erasing_a_session_tells_of_the_one_that_it_was_merged_into(store: Store) -> None:
    session, _ = await begin(store, CODE)
    other, _ = await begin(store, "Where is the pump?")
    await store.update_session(other.id, SessionPatch(title="The pump"))
    await store.organising.merge(other.id, [session.id])
    assert (await store.erase_session(session.id)).copies == (Copy(other.id, "The pump"),)
    assert CODE in texts(await store.branch(other.id))


async def test_small_talk_is_no_copy_of_anything(store: Store) -> None:
    session, said = await begin(store, "thanks")
    reply = await store.append_message(session.id, assistant("You're welcome!"))
    other, _ = await begin(store, "thanks")
    await store.append_message(other.id, assistant("You're welcome!"))
    assert (await store.forget(Target(messages=(said.id, reply.id)))).erased.copies == ()


async def test_the_same_said_again_in_the_same_session_stands_there(store: Store) -> None:
    session, said = await begin(store, CODE)
    await store.append_message(session.id, assistant("Good."))
    await store.append_message(session.id, user(CODE))
    done = await store.forget(Target(messages=(said.id,)))
    assert [one.session_id for one in done.erased.copies] == [session.id]
