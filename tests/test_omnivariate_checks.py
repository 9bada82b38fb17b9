"""The omnivariate estimators follow the rules of scikit-learn."""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from vcdim_core.learn import NodeClassifier, OmnivariateTreeClassifier


@parametrize_with_checks(
    [
        *(OmnivariateTreeClassifier(selection) for selection in ("srm", "aic", "bic", "cv")),
        *(NodeClassifier(kind, trim=0.05) for kind in ("univariate", "linear", "quadratic")),
    ]
)
def test_follows_the_rules_of_scikit_learn(estimator, check):
    check(estimator)
