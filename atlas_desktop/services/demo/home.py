"""The temporary home of the demonstration: an empty folder in the cache of the real home."""

import secrets
import shutil

from atlas_desktop.paths import Paths

_WORDS = tuple(
    """
    anchor apple barrel bell boat bottle bread button candle chalk clover copper corner daisy ember feather
    ferry fiddle garden ginger gravel hammer harbour hazel island ivory jumper kettle ladder lantern lemon
    linen maple marble mitten mustard needle oar olive paper pebble pepper pillow plum pocket quarry rain
    ribbon river saddle salt saucer shovel silver spoon tide timber velvet walnut willow window
    """.split()  # noqa: SIM905 - a list of words reads better this way
)
_WORDS_IN_PASSPHRASE = 4


def demo_home(paths: Paths) -> Paths:
    """Creates an empty home in the cache, which shares the models of the real one."""
    home = Paths(paths.cache / "demo")
    shutil.rmtree(home.home, ignore_errors=True)
    home.home.mkdir(mode=0o700, parents=True)
    home.models.symlink_to(paths.models, target_is_directory=True)
    home.ensure()
    return home


def demo_passphrase() -> str:
    """Returns a new passphrase of four words. The demonstration shows it: it also opens its private room."""
    return " ".join(secrets.choice(_WORDS) for _ in range(_WORDS_IN_PASSPHRASE))
