"""The words of a benchmark report: what its abbreviations, columns and units mean.

Only the words that a report uses are explained in it.
"""

from collections.abc import Iterator, Sequence

from robocle.evaluation.corruptions import CORRUPTIONS, corruption
from robocle.evaluation.metrics import METRICS
from robocle.reports.benchmark_accuracy import AVERAGE
from robocle.reports.benchmark_gains import GAIN, GAINS, OVERALL
from robocle.reports.benchmark_matrix import GAIN_OVER, OTHER_DOMAIN
from robocle.reports.tables import Table

ELSEWHERE = " elsewhere"
Term = tuple[str, str]
"""A word and what it means."""

METHODS = {
    "FT": "fine-tuning: a softmax layer trained on each picture once",
    "PRCPT": "perceptron",
    "NCM": "nearest class mean",
    "SLDA": "streaming linear discriminant analysis: one covariance for all labels",
    "SQDA": "streaming quadratic discriminant analysis: one covariance per label",
    "SNB": "streaming naive Bayes: one variance per label and entry of the embedding",
    "SOvR": "streaming one-versus-rest: a label's mean against the mean of all others",
    "CBCL": "centroid-based concept learning: several means per label",
    "iCaRL": "a softmax layer with exemplar replay: it stores embeddings",
    "FeCAM": "one normalised covariance per label, on transformed embeddings",
    "KLDA": "linear discriminant analysis on random Fourier features",
    "RobOCLe": "the paper's pooling: higher moments of the feature map besides its average",
}


def terms_of(tables: Sequence[Table]) -> list[Term]:
    """Return the words that some tables use, in the order in which a reader meets them."""
    found = (*_accuracy(tables), *_metrics(tables), *_conditions(tables), *_methods(tables))
    return list(dict(found).items())


def _accuracy(tables: Sequence[Table]) -> Iterator[Term]:
    if any("accuracy, %" in table.title for table in tables):
        yield "accuracy, %", METRICS["accuracy"].meaning
    columns = {column for table in tables for column in table.columns}
    if AVERAGE in columns:
        yield AVERAGE, "the mean over the backbones of the table; the paper's, over the same ones"
    if any(row.kind == "gain" for table in tables for row in table.rows):
        yield "gain over ..., %", GAIN
    if any(column.startswith(GAIN_OVER) for column in columns):
        yield f"{GAIN_OVER} ..., %", f"of the {OTHER_DOMAIN}, the {GAIN}"
    yield from ((column, GAINS[column]) for column in GAINS if column in columns)
    yield from ((column, OVERALL[column]) for column in OVERALL if column in columns)


def _metrics(tables: Sequence[Table]) -> Iterator[Term]:
    columns = [column for table in tables for column in table.columns]
    used = {column.replace(ELSEWHERE, "") for column in columns}
    for metric in METRICS.values():
        if metric.meaning and {metric.heading, metric.title} & used:
            yield metric.heading, metric.meaning
    if any(ELSEWHERE in column for column in columns):
        yield ELSEWHERE.strip(), "the mean over all tests but the one in the taught condition"


def _conditions(tables: Sequence[Table]) -> Iterator[Term]:
    names = [name for table in tables for name in (*table.columns, *_row_names(table))]
    words = {word for name in names for word in name.replace("/", " ").split()}
    for name in CORRUPTIONS.names():
        if name in words:
            yield name, f"a test condition: pictures {corruption(name).in_words}"


def _methods(tables: Sequence[Table]) -> Iterator[Term]:
    names = [name for table in tables for name in _row_names(table)]
    words = {word.strip("(),") for name in names for word in name.split()}
    for name, meaning in METHODS.items():
        if name in words:
            yield name, meaning


def _row_names(table: Table) -> Iterator[str]:
    return (row.name for row in table.rows)
