"""`covector.random`: pseudo-random numbers from explicit keys."""

from covector.random._keys import Key as Key
from covector.random._keys import PRNGKey as PRNGKey
from covector.random._keys import clone as clone
from covector.random._keys import fold_in as fold_in
from covector.random._keys import key as key
from covector.random._keys import key_data as key_data
from covector.random._keys import key_dtype as key_dtype
from covector.random._keys import key_impl as key_impl
from covector.random._keys import split as split
from covector.random._keys import wrap_key_data as wrap_key_data
from covector.random._normal import normal as normal
from covector.random._uniform import bits as bits
from covector.random._uniform import uniform as uniform
