"""Teach a small neural network to read handwritten digits.

    uv run examples/digits.py
    uv run examples/digits.py --devices 4    # on four simulated devices, sharing the work

The data are the 1,797 scanned digits of 8 x 8 pixels that come with scikit-learn. The network is
written out in full below: it is a few lines of NumPy-like code, and Covector does the rest.

- ``grad`` gives the direction in which to change the parameters
- ``jit`` compiles a whole training step into one program
- ``vmap`` turns code for one image into code for many: it finds the images that are hard to learn
- ``pmap`` runs the step on several devices at once, each with its own part of the images
"""

import argparse
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import covector as cv
import covector.numpy as jnp
import numpy as np
from covector import lax, random
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import trange

LAYER_SIZES = [64, 128, 64, 10]  # 64 pixels in, a score for each of the ten digits out
EPOCHS, BATCH_SIZE = 30, 64
LEARNING_RATE, MOMENTUM = 0.05, 0.9
FIGURE = Path(__file__).parent / "output" / "digits.png"


# The network and its loss, for one image. No line here knows about batches.


def initial_parameters(key):
    """Draw small random weights for each layer; the biases start at zero."""
    parameters = []
    for inputs, outputs in pairwise(LAYER_SIZES):
        key, layer_key = random.split(key)
        weights = random.normal(layer_key, (outputs, inputs)) * (2 / inputs) ** 0.5
        parameters.append((weights, jnp.zeros(outputs)))
    return parameters


def scores(parameters, image):
    """Score each digit for one image: the highest score is the network's answer."""
    *hidden_layers, (last_weights, last_bias) = parameters
    activation = image
    for weights, bias in hidden_layers:
        activation = jnp.maximum(0, weights @ activation + bias)
    return last_weights @ activation + last_bias


def loss(parameters, image, label):
    """Surprise at the right label: minus the logarithm of the probability that it was given."""
    logits = scores(parameters, image)
    logits = logits - jnp.max(logits)
    return jnp.log(jnp.sum(jnp.exp(logits))) - logits[label]


# From one image to many.


def mean_loss(parameters, images, labels):
    return jnp.mean(cv.vmap(loss, in_axes=(None, 0, 0))(parameters, images, labels))


@cv.jit
def predict(parameters, images):
    return jnp.argmax(cv.vmap(scores, in_axes=(None, 0))(parameters, images), axis=1)


@cv.jit
def gradient_norms(parameters, images, labels):
    """For each image by itself, how strongly it would change the network."""
    gradients = cv.vmap(cv.grad(loss), in_axes=(None, 0, 0))(parameters, images, labels)
    squares = [jnp.sum(g**2, axis=tuple(range(1, g.ndim))) for g in cv.tree.leaves(gradients)]
    return jnp.sqrt(sum(squares))


# One step of training: on one device, or on several that average what they learned.


def train_step(parameters, velocity, images, labels, axis_name=None):
    """Change the parameters a little; give them, the velocity, and the loss before the change."""
    value, gradient = cv.value_and_grad(mean_loss)(parameters, images, labels)
    if axis_name is not None:
        value, gradient = lax.pmean((value, gradient), axis_name)
    velocity = cv.tree.map(lambda v, g: MOMENTUM * v - LEARNING_RATE * g, velocity, gradient)
    parameters = cv.tree.map(lambda p, v: p + v, parameters, velocity)
    return parameters, velocity, value


def make_step(devices):
    """Compile the step. With several devices, each gets the same share of every batch."""
    if devices == 1:
        return cv.jit(train_step)
    parallel_step = cv.pmap(
        partial(train_step, axis_name="devices"),
        axis_name="devices",
        in_axes=(None, None, 0, 0),
        out_axes=None,
    )

    def step(parameters, velocity, images, labels):
        shares = images.reshape(devices, -1, images.shape[1]), labels.reshape(devices, -1)
        return parallel_step(parameters, velocity, *shares)

    return step


def train(parameters, images, labels, devices):
    """Go through the images ``EPOCHS`` times; give the parameters, losses and seconds of steps."""
    step = make_step(devices)
    velocity = cv.tree.map(jnp.zeros_like, parameters)
    shuffle = np.random.default_rng(0).permutation
    steps_per_epoch = len(images) // BATCH_SIZE
    losses, seconds = [], []
    progress = trange(EPOCHS, desc="training", unit="epoch")
    for _ in progress:
        order = shuffle(len(images))[: steps_per_epoch * BATCH_SIZE]
        for batch in order.reshape(steps_per_epoch, BATCH_SIZE):
            start = time.perf_counter()
            parameters, velocity, value = step(parameters, velocity, images[batch], labels[batch])
            losses.append(float(value))  # reading the number waits for the step to end
            seconds.append(time.perf_counter() - start)
        progress.set_postfix(loss=f"{np.mean(losses[-steps_per_epoch:]):.4f}")
    return parameters, losses, seconds


# Data in, figure out.


def load():
    """Training images and labels, then those for the test, which training never sees."""
    images, labels = load_digits(return_X_y=True)
    images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)
    parts = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
    train_images, test_images, train_labels, test_labels = parts
    return train_images, train_labels, test_images, test_labels


def draw(path, losses, images, labels, predictions, hardest):
    """Write a figure: the loss, some test images with their predictions, and the hardest ones."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(2, 3))
    axes = left.subplots()
    axes.semilogy(losses, linewidth=0.6)
    axes.set(xlabel="step", ylabel="loss", title="training")
    shown = [*range(16), *hardest[:8]]
    for number, (axes, index) in enumerate(zip(right.subplots(3, 8).flat, shown)):
        axes.imshow(images[index].reshape(8, 8), cmap="gray_r")
        right_answer = predictions[index] == labels[index]
        title = (
            f"{predictions[index]}"
            if right_answer
            else f"{predictions[index]}, not {labels[index]}"
        )
        axes.set_title(title, fontsize=9, color="black" if right_answer else "red")
        axes.set(xticks=[], yticks=[])
        if number % 8 == 0:
            axes.set_ylabel("hardest" if number == 16 else "test", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description="Teach a network to read handwritten digits.")
    parser.add_argument("--devices", type=int, help="simulate this many CPU devices")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="where to write the figure")
    options = parser.parse_args()
    if options.devices:
        cv.config.update("jax_num_cpu_devices", options.devices)
    devices = cv.local_device_count()
    if BATCH_SIZE % devices:
        parser.error(f"a batch of {BATCH_SIZE} images does not divide among {devices} devices")

    start = time.perf_counter()
    train_images, train_labels, test_images, test_labels = load()
    parameters = initial_parameters(random.PRNGKey(0))
    parameters, losses, seconds = train(parameters, train_images, train_labels, devices)
    predictions = np.asarray(predict(parameters, test_images))
    accuracy = np.mean(predictions == test_labels)
    norms = np.asarray(gradient_norms(parameters, test_images, test_labels))
    hardest = np.argsort(-norms)
    draw(options.figure, losses, test_images, test_labels, predictions, hardest)

    print(f"devices:          {devices} x {cv.devices()[0].device_kind}")
    print(f"first step:       {seconds[0] * 1e3:.0f} ms, compiling included")
    print(f"time per step:    {np.median(seconds[1:]) * 1e3:.3f} ms")
    print(f"test accuracy:    {accuracy:.1%} of {len(test_labels)} images")
    print(f"gradient norms:   median {np.median(norms):.2g}, largest {norms.max():.2g}")
    print(f"figure:           {options.figure}")
    print(f"everything took   {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
