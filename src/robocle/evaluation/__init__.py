"""Evaluation: experiments on data sets, the robustness check, and measurements of backbones.

Three ideas, in this order:

- An *experiment* says what to compare. `experiment_file` reads it from TOML; `experiment` turns its
  methods and studies into trials.
- A *trial* is one method, one ordering, one data set and one scenario: `trial`.
- The *results* are records of trials in a file: `results`.

`robocle bench` calls `run_experiment`, which embeds all pictures (`embedding`, `embedding_cache`)
and hands each trial to `run_trial`, in several processes if asked (`parallel`):

    data set -> scenario -> stream -> teach_and_test -> metrics -> results -> robocle.reports

`run_trial` tests on an `evaluation_set` per corruption; `illustrations` are the pictures and
figures that a report shows besides; `paper` has the numbers to compare with.

`robocle check` calls `check`, which finds a `check_result`. `backbones` measures networks.
"""
