"""Room with a door: the desk of people who decide about names. Others use the names here alone."""

from lightrag_dagster.curation.desk.duplicates import duplicate_candidates, find_duplicates
from lightrag_dagster.curation.desk.finder.finding import Compared
from lightrag_dagster.curation.desk.names import KnownNames, in_documents, known_names
from lightrag_dagster.curation.desk.opinions import Opinion, Pair, ask_pairs, pair_questions
from lightrag_dagster.curation.desk.review import COLUMNS, Reviewed, accept, pairs_of, read_review
from lightrag_dagster.curation.desk.taking import accept_loss, take, undo
