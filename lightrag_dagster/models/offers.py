"""Parts of a request that some endpoints refuse: each is tried until it is known there, then sent in another way."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import openai

from lightrag_dagster.models.openai_errors import told_words

Place = tuple[str, str]
"""Host and model."""

REFUSALS = (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError)
"""The errors of endpoints that refuse a part of a request; some do so by HTTP 500."""

_log = logging.getLogger(__name__)


class Offer:
    """One such part; `known` says of places whether they take it, as this process found out; None: to be tried."""

    def __init__(self, name: str, told: str = "") -> None:
        """Know the part by its name in errors; log `told`, with host and model, when a place refuses it."""
        self._name = name
        self._told = told
        self.known: dict[Place, bool | None] = {}

    async def send(
        self,
        place: Place,
        post: Callable[[bool], Awaitable[Any]],
        may_be: Callable[[openai.APIStatusError], bool],
        usual: bool | None = None,
    ) -> Any:
        """Post with the part if it is taken, without it if not; both ways, if it may be why the first is refused.

        An error that names the part is a refusal by any status: a gateway may send some calls to a server that
        does not know it. Others `may_be` one until a call passed. `usual` is known of a place where nothing was tried.
        """
        takes = self.known.get(place, usual)
        if takes is False:
            return await post(False)
        try:
            answered = await post(True)
        except openai.APIStatusError as error:
            named = self._name in told_words(error.body)
            if not named and (takes or not isinstance(error, REFUSALS) or not may_be(error)):
                raise
            answered = await post(False)  # if it is refused too, for another reason
            if self._told and self.known.get(place) is not False:
                _log.warning(self._told, *place)
            takes = False
        self.known[place] = takes is not False
        return answered
