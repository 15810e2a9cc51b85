"""Cases are found by id and by the words of real messages."""

from __future__ import annotations

import pytest
from install_helper.cases import all_cases, pattern, search
from install_helper.explain import by_id, explain, readable

MESSAGES = {
    "C01": "WARNING: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is "
    "not installed. Falling back to cpu.",
    "C03": "CUDA driver version is insufficient for CUDA runtime version",
    "C04": "The NVIDIA driver's CUDA version is 12.2 which is older than the PTX compiler version",
    "C05": "Failed to initialize NVML: Driver/library version mismatch",
    "C06": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    "C07": "OSError: libcuda.so.1: cannot open shared object file: No such file or directory",
    "C08": "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: "
    "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
    "C10": "FAILED_PRECONDITION: No visible GPU devices.",
    "C12": "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error",
    "C13": "RuntimeError: Unable to load cuSPARSE. Is it installed?",
    "C15": "Loaded runtime CuDNN library: 9.1.0 but source was compiled with: 9.8.0.",
    "C16": "Found cuDNN version 8600, but JAX was built against version 8906, which is newer.",
    "C18": "ImportError: libnvshmem_host.so.3: cannot open shared object file",
    "C19": "RuntimeError: THIS PROJECT 'nvidia-cublas-cu13' IS DEPRECATED",
    "C21": "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
    "C22": "CUDNN_STATUS_EXECUTION_FAILED_CUDART",
    "C23": "RuntimeError: Unable to load cuDNN. Is it installed?",
    "C25": "ptxas fatal : Unsupported .version 8.7; current version is '8.2'",
    "C26": "Couldn't get ptxas version string: INTERNAL",
    "C27": "INTERNAL: libdevice not found at ./libdevice.10.bc",
    "C28": "Falling back to the CUDA driver for PTX compilation; ptxas does not support CC 12.0",
    "C29": "F parse_flags_from_env.cc: Unknown flags in XLA_FLAGS: --xla_foo",
    "C30": "jaxlib version 0.6.1 is newer than and incompatible with jax version 0.5.0.",
    "C31": "jaxlib is version 0.4.1, but this version of jax requires version >= 0.4.30.",
    "C32": "JAX plugin jax_cuda12_plugin version 0.6.0 is installed, but it is not compatible with "
    "the installed jaxlib version 0.6.2, so it will not be used.",
    "C33": "Mismatched PJRT plugin PJRT API version (0.70) and framework PJRT API version 0.67).",
    "C34": "module 'jaxlib.xla_client' has no attribute 'generate_pjrt_gpu_plugin_options'",
    "C39": "This version of jaxlib was built using AVX instructions, which your CPU and/or "
    "operating system do not support.",
    "C44": "/lib64/libm.so.6: version `GLIBC_2.27' not found (required by jaxlib)",
    "C45": "ABORTED: The TPU is already in use by process with pid 991.",
    "C46": "A Google TPU may be present on this machine, but either a TPU-enabled jaxlib or libtpu "
    "is not installed.",
    "C47": "OSError: librocm_smi64.so.6: cannot open shared object file",
    "C49": "UNIMPLEMENTED: default_memory_space is not supported.",
    "C50": "cudaErrorNoKernelImageForDevice",
    "C51": "Failed to determine best cudnn convolution algorithm",
    "C75": "NCCL ncclGroupEnd() failed: unhandled system error (run with NCCL_DEBUG=INFO for",
    "C76": "ImportError: DLL load failed while importing _jax: The specified module",
    "C77": "error: externally-managed-environment",
    "C78": "zsh: no matches found: jax[cuda12]",
    "C53": "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1",
}


# Several lines of real logs, and messages that lead to a case by more than one way.
MORE = {
    "Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices. (set": "C10",
    "Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR": "C51",
    "ImportError: libcudart.so.12: cannot open shared object file: No such file": "C23",
    "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'": "C28",
    "NVRM: API mismatch: the client has the version 570.124.06, but this kernel": "C05",
    'docker: Error: could not select device driver "" with capabilities: [[gpu]].': "C08",
    "ERROR: No matching distribution found for jax==0.2.5": "C36",
    "\x1b[31munable to load\n   cusparse. Is it installed?": "C13",
}


@pytest.mark.parametrize("text", MORE)
def test_more_messages(text):
    assert search(text)[0].case.id == MORE[text]


def test_the_end_of_a_long_log_is_read(tmp_path, capsys):
    from install_helper import cli

    log = tmp_path / "log"
    log.write_bytes(b"nothing to see\n" * 600_000 + b"Unable to load cuSPARSE. Is it installed?\n")
    assert cli.main(["explain", str(log)]) == 0
    assert "C13" in capsys.readouterr().out


def test_an_id_that_is_none(capsys):
    from install_helper import cli

    assert cli.main(["explain", "C99"]) == 1
    assert "There is no case C99" in capsys.readouterr().out


@pytest.mark.parametrize("id", MESSAGES)
def test_message_leads_to_its_case(id):
    log = "I0000 starting\n" * 5 + MESSAGES[id] + "\nTraceback (most recent call last):\n"
    assert search(log)[0].case.id == id


@pytest.mark.parametrize("id", all_cases())
def test_each_signature_matches_itself(id):
    for words in all_cases()[id].signatures:
        assert pattern(words).search(words.replace("<", "").replace(">", "")), words


@pytest.mark.parametrize("id", all_cases())
def test_case_is_explained_in_80_columns(id):
    text, known = explain(id)
    assert known and text.startswith(id)
    assert all(len(line) <= 80 or " " not in line.strip() for line in text.splitlines())
    assert by_id(all_cases()[id].slug) is all_cases()[id]


def test_several_candidates_are_ranked():
    text, known = explain("No matching distribution found for jaxlib==0.4.6")
    assert known and "C36" in text.split("Also possible")[0] and "C43" in text


@pytest.mark.parametrize("text", ["", "it does not work", "\x00\xff" * 100, "(" * 5000])
def test_says_when_it_does_not_know(text):
    shown, known = explain(text)
    assert not known and "No known case" in shown


@pytest.mark.parametrize(
    "name, number, version",
    [("cuDNN", "8907", "8.9.7"), ("cuDNN", "90100", "9.1.0"), ("CUDA", "12040", "12.4"),
     ("cuBLAS", "120304", "12.3.4")],
)  # fmt: skip
def test_numbers_are_read(name, number, version):
    assert readable(name, number) == version
