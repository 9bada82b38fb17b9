"""Figure 2 of Yildiz 2011 on few features: points, files and the command."""

import csv
import io
import json

import pytest

pytest.importorskip("sklearn")

from vcdim_core.cli import main
from vcdim_core.reproduce.figure2 import MODELS, PAPER_D, figure2


@pytest.fixture(scope="module")
def small():
    return figure2([2, 3], design=8, repeats=12, n_bootstrap=20)


def test_every_model_has_every_number_of_features(small):
    assert [(point.model, point.d) for point in small.points] == [(model, d) for model in MODELS for d in (2, 3)]
    assert [point.expected for point in small.of("quadratic")] == [6, 10]
    assert all(0.7 < point.ratio < 1.3 and point.low <= point.h <= point.high for point in small.points)
    assert (max(PAPER_D["univariate"]), max(PAPER_D["quadratic"])) == (20, 10)


def test_text_and_files(small, tmp_path):
    assert len(str(small).splitlines()) == 7
    rows = list(csv.DictReader(io.StringIO(small.csv())))
    assert [float(row["h"]) for row in rows] == [point.h for point in small.points]
    small.save(tmp_path / "figure2.csv")
    assert (tmp_path / "figure2.csv").read_text() == small.csv()
    pytest.importorskip("matplotlib")
    assert len(small.plot().axes) == 3


def test_command(capsys):
    assert main(["reproduce", "figure2", "--d", "1", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert [point["model"] for point in points] == list(MODELS)
    assert main(["reproduce", "figure2", "--d", "0"]) == 2
    assert "expected d[0] >= 1, got 0" in capsys.readouterr().err
