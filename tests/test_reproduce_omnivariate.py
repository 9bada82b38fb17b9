"""The omnivariate experiment on small data: folds, tables, files and the command."""

import csv
import io
import json

import numpy as np
import pytest

pytest.importorskip("sklearn")

from vcdim_core.cli import main
from vcdim_core.reproduce.omnivariate import METHODS, Data, Fold, Omnivariate, omnivariate, read_folder, sign_test


@pytest.fixture(scope="module")
def small():
    return omnivariate(["iris", "twonorm"], rows=200, repeats=2)


def made(data, method, *errors):
    return [Fold(data, method, i, e, 1, 0.0) for i, e in enumerate(errors)]


def test_every_method_has_every_fold(small):
    assert (small.data, small.methods) == (("iris", "twonorm"), METHODS)
    assert len(small.folds) == 2 * 7 * 4
    assert all([f.fold for f in small.of(d, m)] == [0, 1, 2, 3] for d in small.data for m in METHODS)
    assert all(0 <= fold.error <= 60 and fold.seconds > 0 for fold in small.folds)


def test_complexities_of_the_rivals(small):
    assert {fold.parameters for fold in small.of("twonorm", "LDA")} == {21}
    assert {fold.parameters for fold in small.of("twonorm", "QDA")} == {231}
    assert {fold.parameters for fold in small.of("iris", "LDA")} == {10}
    assert all(fold.parameters % 20 == 0 for fold in small.of("twonorm", "SVM"))


def test_types_by_level_add_up(small):
    for method in ("AIC", "BIC", "CV", "SRM"):
        assert small.levels(method).sum(axis=0).tolist() == list(small.types(method))
        assert sum(small.types(method)) == sum(fold.nodes for fold in small.folds if fold.method == method)


def test_all_rows_in_the_bound():
    node, all_ = (
        omnivariate(["ringnorm"], methods=["SRM"], repeats=1, bound_rows=which) for which in ("node", "all")
    )
    assert all_.mean("ringnorm", "SRM", "nodes") > node.mean("ringnorm", "SRM", "nodes")


def test_wins_and_sign_test():
    folds = []
    for name, (a, b) in {"p": (1, 2), "q": (1, 2), "r": (2, 2), "s": (5, 4)}.items():
        folds += made(name, "AIC", a, a) + made(name, "SRM", b, b)
    result = Omnivariate(tuple(folds))
    assert result.wins("error") == {("AIC", "AIC"): 0, ("AIC", "SRM"): 2, ("SRM", "AIC"): 1, ("SRM", "SRM"): 0}
    assert result.chances("error")["AIC", "SRM"] == pytest.approx((3 + 1) / 8)
    assert (sign_test(5, 0), sign_test(4, 1)) == (1 / 32, 6 / 32)


def test_same_folds_for_any_number_of_processes(small):
    again = omnivariate(["iris"], methods=["CV"], repeats=2, n_jobs=2)
    one = [(f.fold, f.error, f.parameters, f.levels) for f in small.of("iris", "CV")]
    assert one == [(f.fold, f.error, f.parameters, f.levels) for f in again.folds]


def test_text_csv_and_json(small):
    text = str(small)
    for title in ("error rate (%)", "free parameters", "seconds to train", "types of nodes by level"):
        assert title in text
    rows = list(csv.DictReader(io.StringIO(small.csv())))
    assert len(rows) == len(small.folds)
    assert float(rows[0]["error"]) == small.folds[0].error
    assert json.loads(json.dumps(small.as_dict()))["wins"]["error"][0]["better"] == "AIC"


def test_files(small, tmp_path):
    pytest.importorskip("matplotlib")
    small.save(tmp_path / "levels.svg")
    small.save(tmp_path / "folds.csv")
    assert (tmp_path / "levels.svg").read_text().lstrip().startswith("<?xml")
    assert (tmp_path / "folds.csv").read_text() == small.csv()
    with pytest.raises(ValueError, match="expected the end of the file name"):
        small.save(tmp_path / "levels.txt")


def test_folder_of_csv_files_with_text_and_missing_values(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = ["colour,size,class"]
    for i in range(60):
        colour = ("red", "blue", "?")[i % 3]
        lines.append(f"{colour},{rng.normal() + 3 * (i % 2):.3f},{'yes' if i % 2 else 'no'}")
    (tmp_path / "shapes.csv").write_text("\n".join(lines) + "\n")
    (data,) = read_folder(tmp_path)
    assert (data.name, data.X.shape, data.discrete) == ("shapes", (60, 2), (0,))
    assert main(["reproduce", "omnivariate", "--sets", "--data", str(tmp_path), "--json"]) == 0
    folds = json.loads(capsys.readouterr().out)["folds"]
    assert len(folds) == 70
    assert {fold["parameters"] for fold in folds if fold["method"] == "LDA"} == {4}
    assert np.mean([fold["error"] for fold in folds if fold["method"] == "SRM"]) < 25


def test_what_is_wrong_is_said(tmp_path, capsys):
    assert main(["reproduce", "omnivariate", "--sets"]) == 2
    assert "expected a data set, got none" in capsys.readouterr().err
    assert main(["reproduce", "omnivariate", "--sets", "moons"]) == 2
    assert "expected data set to be one of" in capsys.readouterr().err
    assert main(["reproduce", "omnivariate", "--data", str(tmp_path / "none")]) == 2
    assert "expected a folder of CSV files" in capsys.readouterr().err
    assert main(["reproduce", "omnivariate", "--data", str(tmp_path)]) == 2
    assert "expected a CSV file in" in capsys.readouterr().err
    lonely = Data("lonely", np.zeros((3, 1)), np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="at least 2 classes with at least 2 rows each in lonely"):
        omnivariate([lonely])
    with pytest.raises(ValueError, match="expected every entry of methods to be one of"):
        omnivariate(["iris"], methods=["CART"])
