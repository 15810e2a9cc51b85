"""Where the operations that index are: `slicing.py`, `gather.py`, `scatter.py`, `joining.py`."""

from covector.lax.gather import gather as gather
from covector.lax.gather import index_take as index_take
from covector.lax.joining import split as split
from covector.lax.joining import stack as stack
from covector.lax.joining import unstack as unstack
from covector.lax.scatter import scatter as scatter
from covector.lax.scatter import scatter_add as scatter_add
from covector.lax.slicing import dynamic_index_in_dim as dynamic_index_in_dim
from covector.lax.slicing import dynamic_slice as dynamic_slice
from covector.lax.slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from covector.lax.slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from covector.lax.slicing import dynamic_update_slice as dynamic_update_slice
from covector.lax.slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from covector.lax.slicing import index_in_dim as index_in_dim
from covector.lax.slicing import slice as slice
from covector.lax.slicing import slice_in_dim as slice_in_dim
