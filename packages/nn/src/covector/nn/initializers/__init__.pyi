"""The names of `__init__.py`, for type checkers. Its test writes it."""

from covector.nn.initializers._orthogonal import delta_orthogonal as delta_orthogonal
from covector.nn.initializers._orthogonal import orthogonal as orthogonal
from covector.nn.initializers._plain import Initializer as Initializer
from covector.nn.initializers._plain import constant as constant
from covector.nn.initializers._plain import normal as normal
from covector.nn.initializers._plain import ones as ones
from covector.nn.initializers._plain import truncated_normal as truncated_normal
from covector.nn.initializers._plain import uniform as uniform
from covector.nn.initializers._plain import zeros as zeros
from covector.nn.initializers._variance_scaling import glorot_normal as glorot_normal
from covector.nn.initializers._variance_scaling import glorot_uniform as glorot_uniform
from covector.nn.initializers._variance_scaling import he_normal as he_normal
from covector.nn.initializers._variance_scaling import he_uniform as he_uniform
from covector.nn.initializers._variance_scaling import kaiming_normal as kaiming_normal
from covector.nn.initializers._variance_scaling import kaiming_uniform as kaiming_uniform
from covector.nn.initializers._variance_scaling import lecun_normal as lecun_normal
from covector.nn.initializers._variance_scaling import lecun_uniform as lecun_uniform
from covector.nn.initializers._variance_scaling import variance_scaling as variance_scaling
from covector.nn.initializers._variance_scaling import xavier_normal as xavier_normal
from covector.nn.initializers._variance_scaling import xavier_uniform as xavier_uniform
