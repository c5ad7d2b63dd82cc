"""Models of this library as a flavor of MLflow: logged, registered, loaded, and served by its tools.

MLflow copies the file that `opauc.save` writes: a model of MLflow has no pickle in it, and is trained further after
`load_model`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from opauc.api.predict import RESPONSES, predict
from opauc.api.saving import load, save
from opauc.api.tables import select_features
from opauc.core.extras import needed
from opauc.data.find_sources import is_paths
from opauc.errors import (
    InputError,
    Parameter,
    ParameterError,
    UnreadableFileError,
    UnsupportedOperationError,
    unknown_name,
)
from opauc.version import __version__

with needed("mlflow", "mlflow"), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own type hints
    import mlflow.artifacts
    import mlflow.models
    import mlflow.pyfunc

__all__ = ["ScoringModel", "load_model", "log_model", "save_model"]

FLAVOR = "opauc"
MODEL_FILE = "model.opauc"
CONTRIBUTIONS, BASELINE = "contributions", "(baseline)"


@dataclass(frozen=True, eq=False)
class ScoringModel:
    """What `mlflow.pyfunc.load_model` wraps: a fitted estimator, and what it returns for rows.

    Attributes
    ----------
    model : estimator
        A fitted estimator of this library.
    response : {"probability", "score", "label", "contributions"}
        What `predict` returns where a request does not say.

    Examples
    --------
    >>> import opauc
    >>> from opauc.mlflow import ScoringModel
    >>> model = opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> ScoringModel(model).predict([[0.5], [3.5]], {"response": "label"})
    array(['no', 'yes'], dtype='<U3')
    """

    model: Any
    response: str = "probability"

    def __post_init__(self) -> None:
        _check_response(self.model, self.response)

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return the probability of the positive class of each row, or what the parameter `response` says.

        Parameters
        ----------
        model_input : table, array, list of dicts or dict of columns
            Rows; columns that the model was not fitted to are ignored.
        params : mapping, default=None
            Parameters of the request: `response` is one of "probability", "score", "label" and "contributions".

        Returns
        -------
        predictions : ndarray of shape (n_rows,) or DataFrame
            One entry per row; contributions are a data frame with a column for each term and one for the baseline.
        """
        response = (params or {}).get("response", self.response)
        _check_response(self.model, response)
        if isinstance(model_input, str) or is_paths(model_input):  # a request must not open files of the server
            raise InputError("expected rows to score, got strings")
        if isinstance(model_input, Mapping):
            model_input = _rows_of_columns(model_input)
        if response != CONTRIBUTIONS:
            return predict(self.model, model_input, response=response)
        explanation = self.model.explain(select_features(self.model, model_input))
        frame = explanation.to_frame("pandas")
        frame.insert(0, BASELINE, explanation.baseline)
        return frame


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    response: str = "probability",
    scoring_only: bool = False,
    input_example: Any = None,
    signature: Any = None,
    pip_requirements: Any = None,
    mlflow_model: Any = None,
    **options: Any,
) -> None:
    """Write a fitted estimator as a model of MLflow to a folder.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    path : path
        Folder to write, which must not exist or be empty.
    response : {"probability", "score", "label", "contributions"}, default="probability"
        What `mlflow.pyfunc` and its server return for rows: the probability of the positive class, the score, the
        predicted label, or the contribution of each term. With a signature a request can ask for another one.
    scoring_only : bool, default=False
        Whether to leave out what only training needs, as in `opauc.save`.
    input_example : table or array, default=None
        A few rows, which MLflow stores with the model; the signature is inferred from them.
    signature : mlflow.models.ModelSignature, default=None
        The signature; False for none.
    pip_requirements : list of str or path, default=None
        What a server installs; by default this version of this library.
    mlflow_model : mlflow.models.Model, default=None
        The description that this flavor is added to.
    **options
        Passed to `mlflow.pyfunc.save_model`: `conda_env`, `code_paths`, `extra_pip_requirements`, `metadata`.

    Examples
    --------
    >>> import tempfile
    >>> import opauc, opauc.mlflow
    >>> model = opauc.OPAUC().fit([[0.0], [1.0], [2.0], [4.0]], ["no", "no", "yes", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opauc.mlflow.save_model(model, f"{folder}/model")
    ...     opauc.mlflow.load_model(f"{folder}/model").predict([[3.5]])
    array(['yes'], dtype='<U3')
    """
    scoring = ScoringModel(model, response)
    description = mlflow_model or mlflow.models.Model()
    if signature is None and input_example is not None:
        parameters = {"response": response}
        signature = mlflow.models.infer_signature(input_example, scoring.predict(input_example), parameters)
    description.add_flavor(FLAVOR, data=f"data/{MODEL_FILE}", estimator=type(model).__name__, opauc_version=__version__)
    if pip_requirements is None and options.get("conda_env") is None:
        pip_requirements = [f"opauc=={__version__}"]
    with TemporaryDirectory() as folder:
        file = Path(folder, MODEL_FILE)
        save(model, file, scoring_only=scoring_only)
        mlflow.pyfunc.save_model(
            os.fspath(path), loader_module=__name__, data_path=os.fspath(file), mlflow_model=description,
            signature=signature or None, input_example=input_example, pip_requirements=pip_requirements,
            model_config={"response": response}, **options,
        )  # fmt: skip


def log_model(model: Any, name: str | None = None, **options: Any) -> Any:
    """Log a fitted estimator as a model of the active run of MLflow.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    name : str, default=None
        The name of the logged model.
    **options
        Passed to `save_model`, and to `mlflow.models.Model.log`: `registered_model_name`, `params`, `tags`, `step`.

    Returns
    -------
    info : mlflow.models.model.ModelInfo
        Where the model is (`model_uri`), and its description.

    Examples
    --------
    >>> import opauc.mlflow
    >>> info = opauc.mlflow.log_model(model, "churn", registered_model_name="churn")  # doctest: +SKIP
    >>> opauc.mlflow.load_model(info.model_uri)  # doctest: +SKIP
    OnePassGAM()
    """
    import opauc.mlflow as flavor

    return mlflow.models.Model.log(None, flavor, name=name, model=model, **options)


def load_model(model_uri: str | os.PathLike[str], dst_path: str | None = None) -> Any:
    """Return the fitted estimator of a model of MLflow; loading runs no code of the model.

    Parameters
    ----------
    model_uri : str or path
        A folder, or an address of MLflow: "models:/churn/1", "runs:/<run>/churn".
    dst_path : str, default=None
        Folder to download to.

    Returns
    -------
    model : estimator
        The estimator as it was saved: it scores, explains and trains further.

    Raises
    ------
    UnreadableFileError
        If the model has no flavor of this library, or its file is broken.

    Examples
    --------
    >>> import opauc.mlflow
    >>> model = opauc.mlflow.load_model("models:/churn/1")  # doctest: +SKIP
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=os.fspath(model_uri), dst_path=dst_path))
    flavors = mlflow.models.Model.load(os.fspath(folder)).flavors
    if FLAVOR not in flavors:
        raise UnreadableFileError(f"{model_uri}: a model of {', '.join(sorted(flavors))}, expected one of {FLAVOR}")
    return load(folder / flavors[FLAVOR]["data"])


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> ScoringModel:
    """Return the model in a file: MLflow calls this."""
    return ScoringModel(load(path), **(model_config or {}))


def _check_response(model: Any, response: Any) -> None:
    """Raise unless a model can give such a response."""
    expected = (*RESPONSES, CONTRIBUTIONS)
    if response not in expected:
        raise ParameterError(Parameter("response"), f": {unknown_name('response', response, expected)}")
    if response == CONTRIBUTIONS and not callable(getattr(type(model), "explain", None)):
        raise UnsupportedOperationError(f"{type(model).__name__} has no terms, and so no contributions")


def _rows_of_columns(columns: Mapping[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(dict(columns))
