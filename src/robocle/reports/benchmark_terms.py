"""The words of a benchmark report: what its abbreviations, columns and units mean.

Only the words that a report uses are explained in it.
"""

from collections.abc import Iterator, Sequence

from robocle.evaluation.corruptions import CORRUPTIONS, corruption
from robocle.evaluation.metrics import METRICS
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
MEANINGS = {
    "accuracy": "right predictions, in percent of the test pictures; the paper's Acc",
    "macro_accuracy": "the mean over the labels of each label's accuracy",
    "average_other_domain": "average over the other domains: the mean accuracy, in percent, over "
    "the conditions that were not taught",
    "backward_transfer": "BwT: how the accuracy on a label changes between the step that taught it "
    "and the end, in percentage points; negative if it falls",
    "forgetting": "Forg: how far the accuracy on a label is below its best at the end, in "
    "percentage points; low is good",
    "plasticity": "Pla: the accuracy on a label right after it was taught",
    "paper_bwt": "what the paper's numbers for BwT fit: the mean accuracy on earlier labels over "
    "all steps",
    "paper_forg": "what the paper's numbers for Forg fit: the mean accuracy on the best label of a "
    "step, minus the accuracy at the end",
    "training_minutes": "training time: minutes to embed and learn all taught pictures",
    "frames_per_second": "test pictures per second, from file to label, on one core",
    "state_megabytes": "the size of what was learned",
    "auroc": "area under the ROC curve: how well the best score separates known from unknown "
    "objects; 50 % is chance",
    "unknown_detection_rate": "objects that were not taught and are called unknown",
    "false_rejection_rate": "taught objects that are called unknown",
    "calibration_error": "expected calibration error: the mean distance between confidence and "
    "accuracy",
}
"""What the columns of metrics mean."""
GAIN = (
    "room-aware relative gain, RARG: the percentage of the other method's errors that are gone; "
    "negative if there are more errors than before"
)


def terms_of(tables: Sequence[Table]) -> list[Term]:
    """Return the words that some tables use, in the order in which a reader meets them."""
    found = (*_accuracy(tables), *_metrics(tables), *_conditions(tables), *_methods(tables))
    return list(dict(found).items())


def _accuracy(tables: Sequence[Table]) -> Iterator[Term]:
    if any("accuracy, %" in table.title for table in tables):
        yield "accuracy, %", MEANINGS["accuracy"]
    if any(row.kind == "gain" for table in tables for row in table.rows):
        yield "gain over ..., %", GAIN


def _metrics(tables: Sequence[Table]) -> Iterator[Term]:
    columns = [column for table in tables for column in table.columns]
    used = {column.replace(ELSEWHERE, "") for column in columns}
    for name, meaning in MEANINGS.items():
        metric = METRICS[name]
        if {metric.heading, metric.title} & used:
            yield metric.heading, meaning
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
