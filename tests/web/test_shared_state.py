"""Other programs use the state that is served: all see all changes, none undoes another's step."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from command_line import counts_of
from robocle import Learner
from robocle.backbones import Backbone
from web_client import Api, Listener, PictureOf, listening


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home.robocle"


@pytest.fixture
def other(api: Api, path: Path, lite0: Backbone) -> Iterator[Learner]:
    """Another program that has the state open."""
    with Learner.open(path, lite0) as learner:
        yield learner


def told(client: Listener, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the first state that a client is told for which a condition holds."""
    while not is_it(found := client.event("state")):
        pass
    return found


def counts_in(state: dict[str, Any]) -> dict[str, int]:
    return {each["label"]: each["pictures"] for each in state["labels"]}


def test_clients_are_told_what_another_program_changes(
    api: Api, other: Learner, picture_of: PictureOf
) -> None:
    with listening(api) as client:
        client.event("state")
        other.teach(picture_of("mug"), "mug")
        state = told(client, lambda state: counts_in(state) == {"mug": 1})
        assert state["steps"][0]["description"] == "teaching 'mug'"
        other.undo()
        state = told(client, lambda state: counts_in(state) == {})
        assert state["undone"][0]["description"] == "teaching 'mug'"
        assert api.post("/api/v1/redo").json["redone"] == "teaching 'mug'"
        assert other.counts == {"mug": 1}


def test_a_step_is_not_undone_after_another_program_has_changed_the_state(
    api: Api, other: Learner, picture_of: PictureOf
) -> None:
    mine = quote(api.teach("mug", picture_of("mug"), lesson="a1").json["step"])
    other.teach(picture_of("clock"), "clock")
    refused = api.post(f"/api/v1/undo?step={mine}")
    assert refused.status == 409
    assert "the next step to undo is now teaching 'clock'" in refused.json["error"]
    assert other.counts == {"mug": 1, "clock": 1}
    other.undo()
    assert api.post(f"/api/v1/redo?step={mine}").status == 409
    assert api.post(f"/api/v1/undo?step={mine}").json["undone"] == "teaching 'mug'"
    assert other.counts == {}
    assert api.post(f"/api/v1/redo?step={mine}").json["redone"] == "teaching 'mug'"
    assert other.counts == {"mug": 1}


def test_each_change_is_answered_with_the_id_of_its_step(api: Api, picture_of: PictureOf) -> None:
    answers = [
        api.teach("mug", picture_of("mug")),
        api.teach("clock", picture_of("clock"), lesson="a1"),
        api.post_json("/api/v1/rename", label="mug", new_label="cup"),
        api.post_json("/api/v1/forget", label="clock"),
    ]
    steps = [each.json["step"] for each in answers]
    assert [each["id"] for each in api.get("/api/v1/state").json["steps"]] == steps[::-1]
    for step in reversed(steps):
        assert api.post(f"/api/v1/undo?step={quote(step)}").status == 200
    assert api.post("/api/v1/undo").status == 409


def test_while_another_program_writes_the_server_answers_and_changes_wait(
    api: Api, path: Path, picture_of: PictureOf
) -> None:
    api.teach("mug", picture_of("mug"))
    with listening(api) as client, closing(sqlite3.connect(path, isolation_level=None)) as writer:
        client.event("state")
        writer.execute("BEGIN EXCLUSIVE")
        with ThreadPoolExecutor(1) as pool:
            change = pool.submit(api.teach, "clock", picture_of("clock"))
            for _ in range(15):  # for longer than it takes to look for changes
                assert api.get("/api/v1/health").status == 200
                time.sleep(0.1)
            assert not change.done()
            writer.execute("COMMIT")
            assert change.result().status == 200
        told(client, lambda state: counts_in(state) == {"mug": 1, "clock": 1})


def test_after_the_file_was_deleted_changes_are_refused_and_predictions_go_on(
    api: Api, path: Path, picture_of: PictureOf
) -> None:
    for label in ("mug", "clock"):
        for number in range(2):
            api.teach(label, picture_of(label, number))
    path.unlink()
    for refused in (api.teach("mug", picture_of("mug", 2)), api.post("/api/v1/undo")):
        assert refused.status == 503
        assert "was deleted or replaced" in refused.json["error"]
        assert refused.json["error"].endswith(
            "put it back, or download the state from the second page"
        )
    assert api.get("/api/v1/export/state").status == 200
    assert api.post("/api/v1/predict", picture_of("mug", 5)).json["label"] == "mug"
    assert counts_in(api.get("/api/v1/state").json) == {"mug": 2, "clock": 2}
    assert list(path.parent.iterdir()) == []


def test_a_file_that_was_replaced_by_another_state_is_followed(
    api: Api, path: Path, lite0: Backbone, picture_of: PictureOf, tmp_path: Path
) -> None:
    api.teach("mug", picture_of("mug"))
    with Learner.open(tmp_path / "new", lite0, prediction_views="centre") as learner:
        learner.teach(picture_of("pan"), "pan")
    with listening(api) as client:
        client.event("state")
        os.replace(tmp_path / "new", path)
        told(client, lambda state: counts_in(state) == {"pan": 1})
        assert api.teach("clock", picture_of("clock")).status == 200
    assert counts_of(path) == {"pan": 1, "clock": 1}


@pytest.mark.parametrize("pictures", [0, 2])
def test_while_something_else_is_in_place_of_the_file_nothing_is_taught(
    pictures: int, api: Api, path: Path, picture_of: PictureOf, tmp_path: Path
) -> None:
    for number in range(pictures):
        api.teach("mug", picture_of("mug", number))
    with listening(api) as client:
        client.event("state")
        os.rename(path, tmp_path / "aside")
        path.write_text("milk, bread, eggs\n" * 30)
        refused = api.teach("mug", picture_of("mug", 3))
        assert refused.status >= 400
        assert "is not a state, or was written" in refused.json["error"]
        answer = api.post("/api/v1/predict", picture_of("mug", 5))
        assert answer.status == (200 if pictures else 409)
        os.replace(tmp_path / "aside", path)
        assert api.teach("mug", picture_of("mug", 3)).json["pictures"] == pictures + 1
        told(client, lambda state: counts_in(state) == {"mug": pictures + 1})
