"""Results written before release 0.1.0: some metrics had other names.

Results may take days to compute, so a file written then can still be read.
"""

from typing import Any

Result = dict[str, Any]

RENAMED = {
    "milliseconds_to_look": "milliseconds_to_embed",
    "milliseconds_to_answer": "milliseconds_to_predict",
    "taught": "pictures_taught",
    "asked": "pictures_tested",
}
OPEN_SET = {
    "auroc": "auroc",
    "unknown_caught": "unknown_detection_rate",
    "known_called_unknown": "false_rejection_rate",
    "calibration_error": "calibration_error",
}
"""Names in "examined", which held all open-set metrics by test, and their names now."""


def with_current_names(result: Result) -> Result:
    """Return the result of a trial with the names of today. A new result is returned as it is.

    Args:
        result: What the line of a trial has under "result".

    Example:
        >>> with_current_names({"examined": {"test/clean": {"unknown_caught": 80.0}}})
        {'unknown_detection_rate': {'test/clean': 80.0}}
    """
    current = {RENAMED.get(name, name): value for name, value in result.items()}
    if "state_bytes" in current:
        current["state_megabytes"] = current.pop("state_bytes") / 1e6
    examined = current.pop("examined", {})
    for test, metrics in examined.items():
        for name, value in metrics.items():
            current.setdefault(OPEN_SET[name], {})[test] = value
    return current
