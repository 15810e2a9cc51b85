"""The names of `__init__.py`, for type checkers. Its test writes it."""

from covector.nn import initializers as initializers
from covector.nn._activations import celu as celu
from covector.nn._activations import elu as elu
from covector.nn._activations import gelu as gelu
from covector.nn._activations import glu as glu
from covector.nn._activations import hard_sigmoid as hard_sigmoid
from covector.nn._activations import hard_silu as hard_silu
from covector.nn._activations import hard_swish as hard_swish
from covector.nn._activations import hard_tanh as hard_tanh
from covector.nn._activations import identity as identity
from covector.nn._activations import leaky_relu as leaky_relu
from covector.nn._activations import log1mexp as log1mexp
from covector.nn._activations import log_sigmoid as log_sigmoid
from covector.nn._activations import mish as mish
from covector.nn._activations import relu as relu
from covector.nn._activations import relu6 as relu6
from covector.nn._activations import selu as selu
from covector.nn._activations import sigmoid as sigmoid
from covector.nn._activations import silu as silu
from covector.nn._activations import soft_sign as soft_sign
from covector.nn._activations import softplus as softplus
from covector.nn._activations import sparse_plus as sparse_plus
from covector.nn._activations import sparse_sigmoid as sparse_sigmoid
from covector.nn._activations import squareplus as squareplus
from covector.nn._activations import swish as swish
from covector.nn._activations import tanh as tanh
from covector.nn._attention import dot_product_attention as dot_product_attention
from covector.nn._normalization import log_softmax as log_softmax
from covector.nn._normalization import logmeanexp as logmeanexp
from covector.nn._normalization import logsumexp as logsumexp
from covector.nn._normalization import one_hot as one_hot
from covector.nn._normalization import softmax as softmax
from covector.nn._normalization import standardize as standardize
from covector.nn._scaled_products import (
    get_scaled_dot_general_config as get_scaled_dot_general_config,
)
from covector.nn._scaled_products import scaled_dot_general as scaled_dot_general
from covector.nn._scaled_products import scaled_matmul as scaled_matmul
