"""How the parameters of `OnePassGAM` become a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opauc.additive.multiclass.fit import MulticlassFit
from opauc.additive.policy import ADDITIVE_POLICY, AdditivePolicy
from opauc.additive.settings import AdditiveSettings, Inputs, fitted_whole, with_init_size, with_positions
from opauc.additive.state import AdditiveFit
from opauc.core.batch import ResumePosition
from opauc.core.fit import Fit, Opening, Sharding, ShardPosition
from opauc.core.labels import ClassLabels
from opauc.core.model import RowReading
from opauc.core.parameters import from_params
from opauc.data.encode.encoder import OrdinalState
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.schema.table import TableSchema
from opauc.data.table_source import Source
from opauc.errors import IncompatibleMomentsError, Parameter, ParameterError, UnsupportedOperationError
from opauc.types import Rows, Settings, random_key

GAM = "OnePassGAM"


@dataclass(frozen=True, eq=False)
class AdditiveFactory:
    """How the parameters of `OnePassGAM` become a fit; `initial` is one with a basis and no rows to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.factory import AdditiveFactory
    >>> from opauc.core.loop import Trainer
    >>> trainer = Trainer(AdditiveFactory({}))
    >>> trainer.train_rows(np.array([[0.0], [1.0], [2.0], [4.0]] * 9), np.array([0, 0, 1, 1] * 9, np.int8))
    >>> trainer.fit.counts
    ClassCounts(negative=18.0, positive=18.0)
    """

    parameters: Settings
    initial: AdditiveFit | None = None
    inputs: Inputs | None = None
    n_rows: int = 0  # known to come, 0 where that is not known
    width: int = 1  # columns of these rows
    shards: bool = True  # whether shards of the rows can begin with the initial fit
    estimator: str = GAM
    policy: AdditivePolicy = ADDITIVE_POLICY
    fixes_basis: bool = False  # whether files fix a basis before the pass, even if all rows could be fitted at once
    n_classes: int = 2
    has_groups: bool = False  # whether rows are ranked within groups

    @property
    def several_classes(self) -> bool:
        """Whether files may have more than two classes."""
        return True

    def settings(self) -> AdditiveSettings:
        """Return the parameters, checked."""
        return from_params(self.estimator, AdditiveSettings, dict(self.parameters))

    def start(self, inputs: Inputs) -> AdditiveFit:
        """Return the fit before any row of such inputs."""
        settings = with_init_size(with_positions(self.settings(), inputs), self.n_rows, self.policy.sample, self.width)
        seed = random_key(self.parameters.get("random_state"))
        if self.n_classes > 2:
            return MulticlassFit.start_of(self.n_classes, settings, inputs.categorical, seed, self.policy)
        return AdditiveFit.start(settings, inputs.categorical, seed, self.policy, self.has_groups)

    def prepare(self, fit: Fit | None, rows: Rows, position: ResumePosition | None = None) -> AdditiveFit:
        """Return the fit to begin with, or the fit under the parameters of now."""
        if fit is not None:
            assert isinstance(fit, AdditiveFit), "estimators of this family have no other"
            if self.initial is not None or self.inputs is None:
                return fit
            return fit.with_settings(with_positions(self.settings(), self.inputs))
        if self.initial is not None:
            return self.initial
        schema = None if position is None else schema_at(position)
        if schema is None and self.inputs is not None:
            return self.start(self.inputs)
        return self.start(Inputs.of(schema, [f"x{j}" for j in range(rows.shape[1])]))

    def check_resumed(self, fit: Fit, position: ResumePosition) -> None:
        """Raise ValueError where the fit is of other columns than those read up to the position."""
        if not isinstance(fit, AdditiveFit):
            raise ValueError("expected an additive fit")
        fit.check_schema(schema_at(position))

    def open_files(self, paths: Sequence[Source], reading: RowReading, labels: ClassLabels) -> Opening:
        """Return the basis of an initial sample of the files, where they can be sampled before the pass."""
        from opauc.additive.file_sample import open_files

        assert isinstance(reading, OrdinalReading), "tables of this family are read so"
        return open_files(self, paths, reading, labels)

    def sharding(self, rows: Rows) -> Sharding:  # noqa: ARG002
        """Return how large shards should be; raise UnsupportedOperationError where there is no basis to begin with."""
        policy = self.policy.sample
        init_size = int(with_init_size(self.settings(), 0, policy).init_size)
        if self.initial is None or not self.shards:
            raise UnsupportedOperationError(
                f"these rows are trained on by one process: they are at most {fitted_whole(init_size, policy):,}, or "
                "cannot be sampled before the pass (compressed files, labels of more than two classes), so that shards "
                "have no basis to begin with; leave out the engine and the number of jobs"
            )
        return Sharding(min_rows=min(policy.rows_per_shard, init_size), pieces=policy.shards_per_row_group)

    def for_shard(self, shard: ShardPosition) -> AdditiveFactory:  # noqa: ARG002
        """Return itself: whichever shard it is, it begins with the basis."""
        if self.initial is None:
            raise IncompatibleMomentsError("shards need a basis to begin with")
        return self

    def for_classes(self, n_classes: int) -> AdditiveFactory:
        """Return the factory of fits of so many classes."""
        if n_classes > 2 and self.has_groups:
            raise ParameterError(
                Parameter("groups"), f": an additive model with groups takes two classes, got {n_classes}"
            )
        return replace(self, n_classes=n_classes)

    def for_segments(self) -> AdditiveFactory:
        """Return the factory of fits of one basis, which files fix before the pass."""
        return replace(self, fixes_basis=True)

    @property
    def begins_fixed(self) -> bool:
        """Whether there is a basis to begin with."""
        return self.initial is not None and self.initial.fixed is not None

    def with_basis_of(self, fit: AdditiveFit) -> AdditiveFactory:
        """Return the factory of fits that begin with the basis of another and merge with it."""
        return replace(self, initial=fit.empty_copy())


def schema_at(position: ResumePosition) -> TableSchema | None:
    """Return what the columns of the rows up to a position are; None for those of arrays."""
    state: OrdinalState | None = position.ordinal_state()
    return None if state is None or state.get("table") is None else TableSchema.of_json(state["table"])
