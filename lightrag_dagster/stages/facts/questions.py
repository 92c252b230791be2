"""The question of a pass about one chunk: instructions with the schema, and the passage, as for entities."""

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.stages.facts.passes import Pass, RelationSchema
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import list_schema, passage_parts

_TEXTS = ("words", "subject", "subject_type", "relation", "object", "object_type", "value", "when")


def facts_request(
    prompts: Prompts, of_pass: Pass, content: str, heading: str | None, context: str | None, *, by_schema: bool
) -> ChatRequest:
    """Ask for the facts of one chunk; with `by_schema` the provider is given the form of the answer."""
    return ChatRequest(
        "extract",
        (
            Message("system", prompts.render("facts_system", schema=schema_text(of_pass)), begins_others=True),
            Message("user", "\n\n".join(passage_parts(content, heading, context))),
        ),
        json_answer=True,
        answer_schema=answer_schema(of_pass) if by_schema else None,
    )


def schema_text(of_pass: Pass) -> str:
    """Return the schema as the model reads it: types, then relations, a line each."""
    types = "\n".join(f"- {name}{': ' * bool(said)}{said}" for name, said in of_pass.types.items())
    relations = "\n".join(_line(name, one) for name, one in of_pass.relations.items())
    return f"Types of subjects and objects:\n\n{types}\n\nRelations:\n\n{relations}"


def _line(name: str, relation: RelationSchema) -> str:
    end = f"object: {' or '.join(relation.to_types)}" if relation.to_types else f"value: {relation.value}"
    unit = f" in {relation.unit}" if relation.unit else ""
    when = "; with the time, if it is said" if relation.dated else "; no time"
    line = f"- {name}: subject: {' or '.join(relation.from_types)}; {end}{unit}{when}"
    line += f". {relation.description}" if relation.description else ""
    return line + (f" Example: {relation.example}" if relation.example else "")


def answer_schema(of_pass: Pass) -> dict[str, object]:
    """Return the form of an answer in the subset of JSON schema that structured outputs allow."""
    text: dict[str, object] = {"type": "string"}
    fields = dict.fromkeys(_TEXTS, text) | {"relation": {"type": "string", "enum": [*of_pass.relations]}}
    return list_schema("facts", fields)
