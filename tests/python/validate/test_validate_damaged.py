"""Tables whose columns a dataset knows, but not what is in them."""

from __future__ import annotations

import pytest

from nearfar import InputError
from nearfar.simulate.validation.datasets import DATASETS
from nearfar.simulate.validation.tables import Table, Tables, shipped

ROWS = 40


@pytest.mark.parametrize("word", ["x", "", "-1", "1e400"])
def test_of_a_table_with_a_strange_word_every_dataset_is_built_or_refuses_it(word: str) -> None:
    refused: dict[str, str] = {}
    for table in shipped():
        for column in sorted(table.columns):
            rows = [{**row, column: word} for row in table.rows[:ROWS]]
            damaged = Tables((Table(table.name, table.columns, rows),), "damaged")
            for name, dataset in DATASETS.items():
                try:
                    dataset.build(damaged)
                except InputError as error:
                    refused[name] = str(error)
    assert not any("\n" in line for line in refused.values())
    assert len(refused) > len(DATASETS) // 2
