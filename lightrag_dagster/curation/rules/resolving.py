"""The decisions in force, resolved: one entity for each name, and the texts that people wrote.

Every decision holds at once, in any order: names that are merged or renamed, in any number of steps, are one
entity; its name is where the steps end. Two decisions that cannot both hold are an error that names both.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lightrag_dagster.core.identity import entity_id, name_key, relation_id
from lightrag_dagster.curation.rules.decisions import Action, Decision, Placed, type_as_read
from lightrag_dagster.errors import DecisionError

_TEXTS: dict[Action, str] = {"retype": "type", "describe": "description"}


@dataclass(frozen=True)
class SplitRule:
    """The mentions of a name that are another entity: those that meet every condition that is given."""

    entity_id: str
    into_id: str
    into: str
    sources: tuple[str, ...]
    paths: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class WrittenText:
    """A name, type or description that a person wrote, and the sources that it is taken from, if any are named."""

    id: str
    column: str
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Curation:
    """Decisions, resolved. Ids of entities are those of their names, unless decisions join them."""

    joined: dict[str, str] = field(default_factory=dict)
    """Id of a name → id of the entity it is joined with; all others keep theirs."""
    removed: frozenset[str] = frozenset()
    splits: tuple[SplitRule, ...] = ()
    written: tuple[WrittenText, ...] = ()
    added: tuple[Decision, ...] = ()
    named: dict[str, str] = field(default_factory=dict)
    """Names that must be in the documents, by the id that each has without decisions."""

    relations: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Relations that decisions speak of, with the names of both ends."""

    def entity_of(self, base_id: str) -> str | None:
        """Return the entity of a name, by the id that the name has without decisions; None if it is removed."""
        entity = self.joined.get(base_id, base_id)
        return None if entity in self.removed else entity

    def unmatched(self, found: frozenset[str]) -> list[str]:
        """Return the names in decisions that no document has, of the ids that names in documents have."""
        return sorted(name for base, name in self.named.items() if base not in found)


NO_DECISIONS = Curation()


def resolve(decisions: Sequence[Placed]) -> Curation:
    """Resolve decisions to a fixed point.

    Raises:
        DecisionError: two of them cannot both hold, or are the same; the message names both places.
    """
    return _Resolving(sorted(decisions, key=lambda one: one.place)).curation()


class _Resolving:
    def __init__(self, decisions: Sequence[Placed]) -> None:
        self._by_action: dict[Action, list[Placed]] = defaultdict(list)
        seen: dict[str, str] = {}
        for one in decisions:
            if before := seen.get(one.decision.content):
                raise DecisionError(f"{before} and {one.place} are the same decision; remove one of them")
            seen[one.decision.content] = one.place
            self._by_action[one.decision.action].append(one)
        self._keys: dict[str, str] = {}
        self._relations: dict[str, tuple[str, str]] = {}
        self._links: dict[str, list[tuple[str, str]]] = defaultdict(list)
        """Id of a name → ids that it is joined with, and the place that says so."""
        self._steps: dict[str, dict[str, Placed]] = defaultdict(dict)
        """Id of a name → text of its next name → the decision that gives it."""
        for one in self._of("merge", "rename"):
            self._join(one)

    def curation(self) -> Curation:
        removed = dict(self._removed())
        written = [*self._names(), *self._texts(removed)]
        self._check_apart()
        return Curation(
            joined={one: group for one, group in sorted(self._groups.items()) if one != group},
            removed=frozenset(removed),
            splits=tuple(self._splits()),
            written=tuple(sorted(written, key=lambda one: (one.id, one.column, one.sources))),
            added=tuple(one.decision for one in self._added(removed)),
            named=self._named(),
            relations=self._relations,
        )

    def _of(self, *actions: Action) -> Iterator[Placed]:
        for action in actions:
            yield from self._by_action[action]

    def _join(self, one: Placed) -> None:
        decision = one.decision
        texts = [*decision.names, *([decision.into] if decision.into else [])]
        ids = [self._id(text) for text in texts]
        for other in ids[1:]:
            self._links[ids[0]].append((other, one.place))
            self._links[other].append((ids[0], one.place))
        if decision.into is not None:
            for base in ids[:-1]:
                if base != ids[-1] or len({*ids}) == 1:
                    steps = self._steps[base]
                    # Of several decisions that give the name, the one that shows it does not depend on places.
                    steps[decision.into] = min(
                        one, steps.get(decision.into, one), key=lambda each: each.decision.content
                    )

    def _id(self, name: str) -> str:
        base = entity_id(name)
        self._keys[base] = name_key(name)
        return base

    @cached_property
    def _members(self) -> list[list[str]]:
        """Groups of names that are one, in order."""
        found, seen = [], set[str]()
        for start in sorted(self._links):
            if start not in seen:
                members = set(self._reached(start))
                seen |= members
                found.append(sorted(members))
        return found

    def _reached(self, start: str) -> dict[str, str]:
        """Return the names that are one with another, each with the place that first joins it on the way."""
        reached, waiting = {start: ""}, deque([start])
        while waiting:
            name = waiting.popleft()
            for other, place in sorted(self._links.get(name, ())):
                if other not in reached:
                    reached[other] = reached[name] or place
                    waiting.append(other)
        return reached

    @cached_property
    def _groups(self) -> dict[str, str]:
        """Id of a name → id of its entity: that of the name it was given, else of the first of its names."""
        groups = dict[str, str]()
        for members in self._members:
            given = self._last_name(members)
            group = entity_id(str(given.decision.into)) if given else min(members, key=self._keys.__getitem__)
            groups |= dict.fromkeys(members, group)
        return groups

    def _last_name(self, members: Iterable[str]) -> Placed | None:
        """Return the decision that gives a group its name: the one whose name is not given another one."""
        steps: dict[tuple[str, str], Placed] = {}
        for into, one in (step for member in members for step in self._steps.get(member, {}).items()):
            key = (entity_id(into), into)
            steps[key] = min(one, steps.get(key, one), key=lambda each: each.decision.content)
        last = {step: one for step, one in steps.items() if not self._leads_on(step)}
        if steps and not last:
            (first, second, *_) = sorted({one.place for one in steps.values()}) * 2
            raise DecisionError(f"{first} and {second} give names in a circle; remove one of them")
        if len(last) > 1:
            (one, other, *_) = sorted(last.values(), key=lambda found: found.place)
            raise DecisionError(
                f"{one.place} and {other.place} give one entity two names, {one.decision.into!r} and "
                f"{other.decision.into!r}; remove one of them"
            )
        return next(iter(last.values()), None)

    def _leads_on(self, step: tuple[str, str]) -> bool:
        base, into = step
        return any(entity_id(further) != base or further != into for further in self._steps.get(base, {}))

    def _names(self) -> Iterator[WrittenText]:
        given_names = set[str]()
        for members in self._members:
            if given := self._last_name(members):
                decision, entity = given.decision, self._groups[members[0]]
                given_names.add(entity)
                yield WrittenText(entity, "name", str(decision.into), decision.sources)
        parts, spelt = dict[str, Placed](), dict[str, Placed]()
        for one in sorted(self._of("split"), key=lambda each: (name_key(str(each[0].into)), each[0].content)):
            base = entity_id(str(one.decision.into))
            entity, before = self._groups.get(base, base), spelt.setdefault(base, one)
            parts.setdefault(entity, one)  # the first in the alphabet names merged parts, as it gives their id
            if before.decision.into != one.decision.into and entity not in given_names:
                first, second = sorted((before, one), key=lambda each: each.place)
                raise DecisionError(
                    f"{first.place} and {second.place} spell one name as {first.decision.into!r} and as "
                    f"{second.decision.into!r}; remove one of them"
                )
        for entity, (decision, _) in parts.items():
            if entity not in given_names:
                yield WrittenText(entity, "name", str(decision.into), decision.sources)

    def _entity(self, name: str) -> str:
        base = entity_id(name)
        return self._groups.get(base, base)

    def _subject(self, decision: Decision, place: str) -> str:
        """Return the id of the entity, or of the relation, that a decision speaks of."""
        ends = [self._entity(name) for name in decision.names]
        if len(ends) == 1:
            return ends[0]
        if ends[0] == ends[1]:
            joining = self._reached(entity_id(decision.names[0])).get(entity_id(decision.names[1]))
            by = f"; {joining} makes them one" if joining else ""
            raise DecisionError(f"{place}: {decision.names[0]!r} and {decision.names[1]!r} are one entity{by}")
        relation = relation_id(*ends)
        self._relations[relation] = (decision.names[0], decision.names[1])
        return relation

    def _removed(self) -> Iterator[tuple[str, str]]:
        for decision, place in self._of("remove"):
            yield self._subject(decision, place), place

    def _kept(self, one: Placed, removed: dict[str, str], does: str) -> str:
        """Return the id of what a decision speaks of, which neither itself nor at an end may be removed."""
        subject = self._subject(one.decision, one.place)
        for each in filter(removed.__contains__, (subject, *map(self._entity, one.decision.names))):
            which = "what" if each == subject else "an end of what"
            raise DecisionError(f"{removed[each]} removes {which} {one.place} {does}; remove one of them")
        return subject

    def _texts(self, removed: dict[str, str]) -> Iterator[WrittenText]:
        found: dict[tuple[str, str], tuple[str, str]] = {}
        for one in self._of("retype", "describe"):
            decision, place = one
            column = _TEXTS[decision.action]
            subject = self._kept(one, removed, f"gives a {column}")
            text = type_as_read(decision.type) if column == "type" else str(decision.text)
            before, elsewhere = found.setdefault((subject, column), (text, place))
            if text != before:
                raise DecisionError(
                    f"{elsewhere} and {place} give two {column}s, {before!r} and {text!r}; remove one of them"
                )
            yield WrittenText(subject, column, text, decision.sources)

    def _added(self, removed: dict[str, str]) -> Iterator[Placed]:
        found: dict[str, str] = {}
        for one in self._of("add"):
            subject = self._kept(one, removed, "adds")
            if (before := found.setdefault(subject, one.place)) != one.place:
                raise DecisionError(f"{before} and {one.place} add the same; remove one of them")
            yield one

    def _check_apart(self) -> None:
        for decision, place in self._of("apart"):
            seen = dict[str, str]()
            for name in decision.names:
                if (entity := self._entity(name)) not in seen:
                    seen[entity] = name
                    continue
                first = seen[entity]
                if entity_id(first) == entity_id(name):
                    raise DecisionError(
                        f"{place}: {first!r} and {name!r} are spellings of one name; `curate split` takes it apart"
                    )
                joining = self._reached(entity_id(first))[entity_id(name)]
                raise DecisionError(
                    f"{place} keeps {first!r} and {name!r} apart, and {joining} joins them; remove one of them"
                )

    def _splits(self) -> Iterator[SplitRule]:
        decisions = list(self._of("split"))
        made = {entity_id(str(one.decision.into)): one for one in decisions}
        for decision, place in decisions:
            base, into = entity_id(decision.names[0]), str(decision.into)
            if entity_id(into) == base:
                raise DecisionError(f"{place}: {into!r} is the name itself; give the mentions another one")
            if before := made.get(base):
                raise DecisionError(
                    f"{place} splits {decision.names[0]!r}, which {before.place} splits off; split the first name"
                )
            if self._entity(into) == self._groups.get(base, base):
                joining = self._reached(base)[entity_id(into)]
                raise DecisionError(f"{joining} joins what {place} splits; remove one of them")
            types = map(type_as_read, decision.types)
            yield SplitRule(base, entity_id(into), into, decision.sources, decision.paths, tuple(types))

    def _named(self) -> dict[str, str]:
        """Return the names that must be in the documents: all except those that other decisions make."""
        made = {entity_id(name) for one in self._of("add") for name in one.decision.names}
        for decision, _ in self._of("merge", "rename", "split"):
            made |= {entity_id(decision.into)} - {*decision.ids} if decision.into else set()
        decisions = self._of("merge", "apart", "rename", "retype", "describe", "remove", "split")
        names = sorted({name for one in decisions for name in one.decision.names}, reverse=True)
        return {base: name for name in names if (base := entity_id(name)) not in made}
