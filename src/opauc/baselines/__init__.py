"""The methods that OPAUC is compared with, as scikit-learn estimators, one file per method.

>>> from opauc.baselines import OAM
>>> OAM(update="gradient")
OAM(update='gradient')
"""

from opauc.baselines.ada_oam import AdaOAM
from opauc.baselines.batch_uni_squ import BatchUniSqu
from opauc.baselines.fsauc import FSAUC
from opauc.baselines.ls_svm import LSSVM
from opauc.baselines.mean_difference import MeanDifference
from opauc.baselines.oam import OAM
from opauc.baselines.opauc_f import OPAUCf
from opauc.baselines.opauc_pca import OPAUCpca
from opauc.baselines.opauc_rp import OPAUCrp
from opauc.baselines.random_weights import RandomWeights
from opauc.baselines.solam import SOLAM
from opauc.baselines.spauc import SPAUC
from opauc.baselines.svm_or import SVMOR
from opauc.baselines.svm_perf import SVMPerf
from opauc.baselines.uni_exp import UniExp
from opauc.baselines.uni_log import UniLog
from opauc.baselines.uni_squ import UniSqu

__all__ = [
    "FSAUC",
    "LSSVM",
    "OAM",
    "SOLAM",
    "SPAUC",
    "SVMOR",
    "AdaOAM",
    "BatchUniSqu",
    "MeanDifference",
    "OPAUCf",
    "OPAUCpca",
    "OPAUCrp",
    "RandomWeights",
    "SVMPerf",
    "UniExp",
    "UniLog",
    "UniSqu",
]
