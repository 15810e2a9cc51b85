"""`covector.parallel`: programs over several devices.

`pmap` maps a function over devices; the collectives, also names of `covector.lax`, exchange values
between the indices of a named axis, of `pmap` or `vmap` alike.
"""

from covector.parallel._casts import pcast as pcast
from covector.parallel._exchanges import all_gather as all_gather
from covector.parallel._exchanges import all_gather_p as all_gather_p
from covector.parallel._exchanges import all_to_all as all_to_all
from covector.parallel._exchanges import all_to_all_p as all_to_all_p
from covector.parallel._exchanges import axis_index as axis_index
from covector.parallel._exchanges import axis_index_p as axis_index_p
from covector.parallel._exchanges import pbroadcast as pbroadcast
from covector.parallel._exchanges import ppermute as ppermute
from covector.parallel._exchanges import ppermute_p as ppermute_p
from covector.parallel._exchanges import pshuffle as pshuffle
from covector.parallel._exchanges import psum_scatter as psum_scatter
from covector.parallel._exchanges import psum_scatter_start as psum_scatter_start
from covector.parallel._exchanges import pswapaxes as pswapaxes
from covector.parallel._exchanges import reduce_scatter_p as reduce_scatter_p
from covector.parallel._names import axis_size as axis_size
from covector.parallel._pmap import pmap as pmap
from covector.parallel._pmap_rules import pmap_p as pmap_p
from covector.parallel._ragged import ragged_all_to_all as ragged_all_to_all
from covector.parallel._ragged import ragged_all_to_all_p as ragged_all_to_all_p
from covector.parallel._reductions import pmax as pmax
from covector.parallel._reductions import pmax_p as pmax_p
from covector.parallel._reductions import pmean as pmean
from covector.parallel._reductions import pmin as pmin
from covector.parallel._reductions import pmin_p as pmin_p
from covector.parallel._reductions import psum as psum
from covector.parallel._reductions import psum_p as psum_p
