"""What lies over the conversation: it is left once, and shows nothing of a room that has closed."""

from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.await_complete import AwaitComplete

if TYPE_CHECKING:
    from textual.screen import Screen


class Covering:
    """Mixed into a screen or window, before Textual's own class.

    Textual takes away whatever screen is on top when one is dismissed. Keys come quicker than a window goes:
    the second Enter would take away the conversation below it.
    """

    of_rooms: ClassVar[bool] = True
    """Whether it may show something of a room."""
    _ended: tuple[Any] | None = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Leaves it, once; while something lies over it, as soon as that is gone."""
        screen = cast("Screen[Any]", self)
        if screen.app.screen is screen:
            return super().dismiss(result)  # type: ignore[misc,no-any-return]
        if screen in screen.app.screen_stack:
            self._ended = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        if self._ended is not None:
            (result,), self._ended = self._ended, None
            self.dismiss(result)

    def forget_private(self) -> bool:
        """Shows nothing of the private room any more, which closes; False when it has to be left for that."""
        return not self.of_rooms
