"""The names of `__init__.py`, for type checkers. A test writes it."""

from covector.numpy.fft._frequencies import fftfreq as fftfreq
from covector.numpy.fft._frequencies import fftshift as fftshift
from covector.numpy.fft._frequencies import ifftshift as ifftshift
from covector.numpy.fft._frequencies import rfftfreq as rfftfreq
from covector.numpy.fft._transforms import fft as fft
from covector.numpy.fft._transforms import fft2 as fft2
from covector.numpy.fft._transforms import fftn as fftn
from covector.numpy.fft._transforms import hfft as hfft
from covector.numpy.fft._transforms import ifft as ifft
from covector.numpy.fft._transforms import ifft2 as ifft2
from covector.numpy.fft._transforms import ifftn as ifftn
from covector.numpy.fft._transforms import ihfft as ihfft
from covector.numpy.fft._transforms import irfft as irfft
from covector.numpy.fft._transforms import irfft2 as irfft2
from covector.numpy.fft._transforms import irfftn as irfftn
from covector.numpy.fft._transforms import rfft as rfft
from covector.numpy.fft._transforms import rfft2 as rfft2
from covector.numpy.fft._transforms import rfftn as rfftn
