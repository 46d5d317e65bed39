"""What a request and a statement are about, in everyday terms.

"Recommend a course" and "online lessons bore me" share no word and little meaning; both are about learning.
Each is compared with the same list of topics, and two that lie near the same ones belong together.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHARPNESS = 0.03
"""The cosine by which one topic must be nearer than another to count e times as much."""
CONSIDERED = 100
"""So many of the best statements are compared by topic."""
TOPICS = (
    "studying, courses, classes and learning a subject",
    "textbooks, tutorials and learning materials",
    "video games, consoles and board games",
    "films, cinema and movies",
    "television series and streaming shows",
    "music, songs, concerts and playlists",
    "novels, books and reading",
    "podcasts, radio and audiobooks",
    "news, newspapers and current affairs",
    "painting, crafts, hobbies and creative projects",
    "photography and cameras",
    "sports, matches and teams",
    "exercise, gym, running and fitness",
    "hiking, camping and the outdoors",
    "cooking, recipes and ingredients",
    "restaurants, dining out and dishes",
    "coffee, tea, wine and drinks",
    "baking, sweets, snacks and desserts",
    "diet, nutrition, allergies and healthy eating",
    "holidays, travel destinations and trips",
    "hotels, hostels and places to stay",
    "flights, trains, buses and how to get there",
    "cars, driving and commuting",
    "clothes, shoes and fashion",
    "hair, skin, make-up and personal care",
    "shopping, brands and gifts",
    "money, saving, investing and budgets",
    "work, jobs, career and office",
    "meetings, e-mail, planning and productivity",
    "computers, phones, apps and gadgets",
    "programming, software and tools",
    "home, furniture, decoration and interior design",
    "cleaning, laundry and household chores",
    "gardening, plants and flowers",
    "pets, dogs and cats",
    "children, family and parenting",
    "friends, parties, dates and social events",
    "festivals, holidays and celebrations",
    "museums, theatre, art and exhibitions",
    "health, doctors, medicine and therapy",
    "sleep, rest, stress and relaxation",
    "religion, spirituality and meditation",
    "volunteering, charity and the environment",
    "neighbourhoods, flats, houses and where to live",
    "weather, climate and seasons",
    "repairs, tools and doing it yourself",
    "insurance, contracts and public services",
    "history, science and nature",
    "languages and speaking",
    "writing, letters and speeches",
)


def kinship(
    question: "NDArray[np.float64]", statements: "NDArray[np.float64]", topics: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """How far each of `statements` (`float[m, n]`) is about what `question` (`float[n]`) is about: 0 … 1, the
    Bhattacharyya coefficient of their shares in `topics` (`float[t, n]`). All vectors have length 1."""
    import numpy as np

    return np.asarray(np.sqrt(_shares(statements, topics)) @ np.sqrt(_shares(question[None], topics))[0])


def beyond_the_others(kin: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """What each has more of than the others have on average, 0 … 1: where everything is about the same topic,
    that says nothing of any."""
    import numpy as np

    others = (kin.sum() - kin) / max(len(kin) - 1, 1)
    return np.asarray(np.clip((kin - others) / np.maximum(1 - others, 1e-9), 0.0, 1.0))


def _shares(vectors: "NDArray[np.float64]", topics: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """In which topics each lies: rows that add up to 1."""
    import numpy as np

    near = vectors @ topics.T / SHARPNESS
    weights = np.exp(near - near.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
