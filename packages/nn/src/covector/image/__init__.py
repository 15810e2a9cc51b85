"""Resampling of images: the contents page of `covector.image`.

from covector import image

image.resize(photograph, (224, 224, 3), "bilinear")
"""

from covector.image._methods import ResizeMethod as ResizeMethod
from covector.image._resampling import resize as resize
from covector.image._resampling import scale_and_translate as scale_and_translate
