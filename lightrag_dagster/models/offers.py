"""Parts of a request that some endpoints refuse: each is tried until it is known there, then sent in another way."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import openai

Place = tuple[str, str]
"""Host and model."""

REFUSALS = (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError)
"""The errors of endpoints that refuse a part of a request; some do so by HTTP 500."""

_log = logging.getLogger(__name__)


class Offer:
    """One such part; `known` says of places whether they take it, as this process found out; None: to be tried."""

    def __init__(self, told: str = "") -> None:
        """Log `told`, with host and model, when a place is found that does not take it."""
        self._told = told
        self.known: dict[Place, bool | None] = {}

    async def send(
        self,
        place: Place,
        post: Callable[[bool], Awaitable[Any]],
        is_refusal: Callable[[openai.APIStatusError], bool],
        usual: bool | None = None,
    ) -> Any:
        """Post with the part if it is taken, without it if not; both ways, if the first may be why it is refused.

        `usual` is what is known of a place where nothing was tried.
        """
        takes = self.known.get(place, usual)
        if takes is False:
            return await post(False)
        try:
            answered = await post(True)
        except REFUSALS as error:
            if takes or not is_refusal(error):
                raise
            answered = await post(False)  # if it is refused too, for another reason
            if self._told and self.known.get(place) is not False:
                _log.warning(self._told, *place)
            takes = False
        self.known[place] = takes is not False
        return answered
