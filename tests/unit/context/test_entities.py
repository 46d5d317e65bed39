from hypothesis import given
from hypothesis import strategies as st

from memory.context.entities import SHARES, Limits, allocate, preset

limits = st.builds(
    lambda most, part, recall: Limits(
        max_tokens=most, summary_target=max(1, most * part // 100), recall_tokens=recall
    ),
    st.integers(512, 60_000),
    st.integers(1, 99),
    st.integers(0, 4_000),
)
contexts = st.integers(16, 131_072)


def test_the_defaults_of_a_large_model_are_those_of_the_settings() -> None:
    made = allocate(Limits(), context_length=131_072, reply=1_024, system=50, parameters=8_000_000_000)
    assert (made.working, made.target) == (30_000, 20_000)


def test_working_memory_is_scaled_down_to_the_context_and_to_the_size_of_the_model() -> None:
    made = allocate(Limits(), context_length=8_192, reply=1_024, system=50)
    assert (made.limit, made.working, made.target) == (7_168, 3_584, 2_389)
    small = allocate(Limits(), context_length=8_192, reply=1_024, system=50, parameters=135_000_000)
    assert (small.limit, small.working, small.target) == (7_168, 2_560, 1_706)


def test_a_long_system_prompt_widens_the_working_memory() -> None:
    made = allocate(Limits(), context_length=16_384, reply=1_024, system=6_000, parameters=135_000_000)
    assert made.working == 6_512
    assert made.free > 0


def test_a_target_that_is_no_target_is_two_thirds() -> None:
    made = allocate(Limits(max_tokens=900), context_length=8_192, reply=100, system=10)
    assert (made.working, made.target) == (900, 600)


def test_recall_can_be_switched_off() -> None:
    assert allocate(Limits(recall=False), context_length=8_192, reply=100, system=0).recall == 0


def test_presets_grow_with_the_model_and_unknown_sizes_have_none() -> None:
    assert preset(0) is None
    assert preset(135_000_000) == 2_560
    assert preset(1_700_000_000) == 6_144
    assert preset(70_000_000_000) is None


@given(limits, contexts, st.integers(1, 65_536), st.integers(0, 20_000), st.integers(0, 10**11))
def test_nothing_ever_overflows(
    limits: Limits, context: int, reply: int, system: int, parameters: int
) -> None:
    made = allocate(limits, context_length=context, reply=reply, system=system, parameters=parameters)
    assert made.limit + made.reply == context
    assert 0 < made.reply <= max(1, context // 2)
    assert 0 <= made.target <= made.working <= made.limit
    assert made.recall <= made.working // 6


@given(
    limits,
    contexts,
    st.integers(0, 4_000),
    st.dictionaries(st.sampled_from(sorted(SHARES)), st.integers(0, 50_000)),
)
def test_the_tiers_of_a_head_share_the_target_and_a_fifth_of_what_is_free_is_left_to_the_newest_words(
    limits: Limits, context: int, system: int, wanted: dict[str, int]
) -> None:
    made = allocate(limits, context_length=context, reply=100, system=system)
    given = made.divide(wanted)
    assert sum(given.values()) == made.free
    assert all(0 <= given[tier] <= want for tier, want in wanted.items())
    assert given["recent"] * 5 >= made.free


@given(limits, contexts, st.integers(1, 4_000), st.integers(0, 4_000))
def test_a_larger_context_never_gives_less(limits: Limits, context: int, reply: int, more: int) -> None:
    one = allocate(limits, context_length=context, reply=min(reply, context // 2), system=100)
    two = allocate(limits, context_length=context + more, reply=min(reply, context // 2), system=100)
    assert one.limit <= two.limit
    assert one.working <= two.working
