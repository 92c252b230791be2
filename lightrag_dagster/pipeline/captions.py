"""Captions of images in documents, by a model that is shown them."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import ceil

from anyio.from_thread import BlockingPortal, start_blocking_portal

from lightrag_dagster.core.protocols import ExtractionModel, OpenModel, Picture, Usage
from lightrag_dagster.core.text.figures import described_name
from lightrag_dagster.errors import ProviderAccessError, ProviderError, TransientProviderError
from lightrag_dagster.models.cached import response_key
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.readers import Figure
from lightrag_dagster.stages.documents.captions import Description
from lightrag_dagster.stages.prompts.requests import description_request


class Describer:
    """Writer of captions, by a model that is opened with the first image, within a limit of calls at once.

    Any thread may call it. After an error that ends all requests, such as a spent budget, it makes no more calls.
    """

    def __init__(self, open_model: OpenModel, recipes: Recipes, at_once: int, stack: ExitStack) -> None:
        self._open_model = open_model
        self._prompts = recipes.prompts
        self._model_name = recipes.settings.llm.of("describe").model
        self._places = asyncio.Semaphore(at_once)
        self._stack = stack
        self._lock = threading.Lock()
        self._opened: tuple[BlockingPortal, ExtractionModel] | None = None
        self._stopped: Description | None = None

    @property
    def usage(self) -> Usage:
        """The calls of the model, and their tokens and cost."""
        return self._opened[1].usage if self._opened else Usage()

    def __call__(self, figures: Sequence[tuple[Figure, str]]) -> list[Description]:
        """Describe images, each given with the caption in its document; raises StoreError."""
        if not figures:
            return []
        with self._lock:
            if self._opened is None:
                portal = self._stack.enter_context(start_blocking_portal())
                model = self._stack.enter_context(portal.wrap_async_context_manager(self._open_model()))
                self._opened = portal, model
        portal, model = self._opened
        return portal.call(self._describe_all, model, figures)

    async def _describe_all(self, model: ExtractionModel, figures: Sequence[tuple[Figure, str]]) -> list[Description]:
        return list(await asyncio.gather(*(self._describe(model, *one) for one in figures)))

    async def _describe(self, model: ExtractionModel, figure: Figure, caption: str) -> Description:
        async with self._places:
            if self._stopped:
                return self._stopped
            tokens = picture_tokens(self._model_name, figure.width, figure.height)
            request = description_request(self._prompts, Picture(figure.digest, figure.url, tokens), caption)
            name = described_name(figure.digest, caption, response_key(model.identity, request))
            try:
                answer = await model.complete(request)
                if answer.finish_reason == "length":
                    told = f"its description by {model.identity} is cut off; raise LIGHTRAG_LLM__MAX_OUTPUT_TOKENS"
                    return Description("", told)
                return Description(answer.text, name=name)
            except ProviderAccessError as error:
                self._stopped = Description("", str(error), again=True)
                return self._stopped
            except ProviderError as error:
                return Description("", str(error), again=isinstance(error, TransientProviderError))


@contextmanager
def describing(open_model: OpenModel | None, recipes: Recipes, at_once: int) -> Iterator[Describer | None]:
    """Open a describer of images for the block; yield None where they are not described."""
    if open_model is None or not recipes.describes_figures:
        yield None
        return
    with ExitStack() as stack:
        yield Describer(open_model, recipes, at_once, stack)


def picture_tokens(model: str, width: int, height: int) -> int:
    """Return the most tokens that OpenAI bills a model for an image of this size, by its published rules.

    Older models see it in tiles of 512 pixels after it was made to fit 2048 × 2048 and its shorter side 768, newer ones
    in patches of 32 pixels, at most 1,536 of them, times a factor for small models.
    """
    patches = ceil(2.46 * min(1536, ceil(width / 32) * ceil(height / 32)))
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = ceil(width * scale / 512) * ceil(height * scale / 512)
    return 2833 + 5667 * tiles if "gpt-4o-mini" in model else max(patches, 85 + 170 * tiles)
