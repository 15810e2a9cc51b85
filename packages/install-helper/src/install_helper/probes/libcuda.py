"""Ask libcuda what it sees; run as a script in a process of its own, prints one line of JSON."""

import ctypes
import json
import sys


def ask():
    """What the user-mode driver answers, step by step."""
    answer: dict[str, object] = {"loaded": False}
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        answer["loaded"] = True
        value = ctypes.c_int()
        if cuda.cuDriverGetVersion(ctypes.byref(value)) == 0:
            answer["cuda"] = value.value
        answer["path"] = loaded_path()
        answer["init"] = cuda.cuInit(0)
        if answer["init"] == 0 and cuda.cuDeviceGetCount(ctypes.byref(value)) == 0:
            answer["count"] = value.value
            answer["capabilities"] = [capability(cuda, i) for i in range(min(value.value, 64))]
    except (OSError, AttributeError) as error:
        answer["error"] = str(error)
    return answer


def loaded_path():
    """The file that was loaded."""
    try:
        with open("/proc/self/maps") as maps:
            return next((line.split()[-1] for line in maps if "libcuda.so" in line), "")
    except OSError:
        return ""


def capability(cuda, index):
    """The two numbers of a device's compute capability."""
    digits = []
    for attribute in (75, 76):
        digit = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(digit), attribute, index)
        digits.append(str(digit.value))
    return ".".join(digits)


if __name__ == "__main__":
    print(json.dumps(ask()))
