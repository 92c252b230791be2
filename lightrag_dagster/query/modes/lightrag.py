"""The modes of LightRAG: `naive`, `local`, `global`, `hybrid` and `mix`; and `bypass`, without retrieval."""

from lightrag_dagster.query.hits import Found, round_robin
from lightrag_dagster.query.search import Search, endpoints_of, relations_around


def find_naive(search: Search) -> Found:
    """Find chunks near the question."""
    return search.nearest(chunks=search.query)


def find_local(search: Search) -> Found:
    """Find entities near the specifics, and the relations around them; without specifics, as global."""
    return _graph(search, search.specifics, "" if search.specifics else search.themes)


def find_global(search: Search) -> Found:
    """Find relations near the themes, and the entities they join; without themes, as local."""
    return _graph(search, "" if search.themes else search.specifics, search.themes)


def find_hybrid(search: Search) -> Found:
    """Find as local and as global at once, merged by turns."""
    return _graph(search, search.specifics, search.themes)


def find_mix(search: Search) -> Found:
    """Find as hybrid, and chunks near the question."""
    return _graph(search, search.specifics, search.themes, search.query)


def _graph(search: Search, specifics: str, themes: str, question: str = "") -> Found:
    graph, near = search.snapshot.graph, search.nearest(entities=specifics, relations=themes, chunks=question)
    entities, relations = list(near.entities), list(near.relations)
    return Found(
        {row: near.entities.get(row) for row in round_robin(entities, endpoints_of(graph, relations))},
        {row: near.relations.get(row) for row in round_robin(relations_around(graph, entities), relations)},
        near.chunks,
    )


def find_nothing(search: Search) -> Found:
    """Find nothing: the model gets the bare question."""
    return Found()
