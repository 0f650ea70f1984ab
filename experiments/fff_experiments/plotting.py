"""Plots in the manner of the papers' figures: black lines told apart by dashes and markers, fit for print.

The only importer of matplotlib, which comes with the extra `plots`; everything else does without it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fff_experiments.experiment import Curve, Experiment, Findings, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points of a curve that are drawn at most; more make large files and no better picture.
DRAWN_POINTS = 160
MARKERS = 9  # on a line, about as many
INSIDE = 2  # curves whose legend finds room between them; that of more stands below

_DASHES = ("-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)), (0, (1, 1)), (0, (9, 3)))
_SHAPES = ("o", "s", "^", "x", "D", "v", "+")
_GREYS = ("0.0", "0.25", "0.45", "0.0", "0.25", "0.45", "0.0")
_STYLE: dict[str, Any] = {
    "font.family": "serif",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "svg.fonttype": "none",  # text stays text: small files
    "svg.hashsalt": "fff",  # the same plot is the same file
}


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(experiment: Experiment, findings: Findings, folder: Path, endings: Sequence[str]) -> None:
    """Write NAME.png or NAME.svg, as `endings` says: one picture of all panels; the folder exists."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    count = len(findings.panels)
    across = 1 if count == 1 else 2 if count in (2, 4) else min(count, 3)
    down = -(-count // across)
    below = any(len(panel.curves) > INSIDE for panel in findings.panels)
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(3.7 * across + 0.3, (2.9 + 0.4 * below) * down), layout="constrained")
        for number, panel in enumerate(findings.panels, start=1):
            _panel(figure.add_subplot(down, across, number), panel)
        for ending in endings:
            metadata = {"Date": None} if ending == "svg" else {"Software": None}
            figure.savefig(folder / f"{experiment.name}.{ending}", dpi=160, metadata=metadata)


def _panel(axes: Axes, panel: Panel) -> None:
    for number, curve in enumerate(panel.curves):
        _curve(axes, curve, number)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    elif all(value >= 0 for curve in panel.curves for value in curve.y):
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.05)
    if not panel.log_x and all(value >= 0 for curve in panel.curves for value in curve.x):
        axes.set_xlim(left=0)
    if len(panel.curves) > INSIDE:
        axes.legend(handlelength=3.2, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    elif len(panel.curves) > 1 or panel.curves[0].label:
        axes.legend(handlelength=3.2)


def _curve(axes: Axes, curve: Curve, number: int) -> None:
    step = max(1, -(-len(curve.x) // DRAWN_POINTS))
    kept = sorted({*range(0, len(curve.x), step), max(0, len(curve.x) - 1)}) if curve.x else []
    x, y = [curve.x[place] for place in kept], [curve.y[place] for place in kept]
    every = max(1, len(x) // MARKERS)
    look: dict[str, Any] = {
        "label": curve.label,
        "color": _GREYS[number % len(_GREYS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _SHAPES[number % len(_SHAPES)],
        # Markers of curves that coincide stand beside each other.
        "markevery": (number * every // 3 % max(1, len(x)), every),
        "markerfacecolor": "white",
    }
    if curve.style == "points":
        look |= {"linestyle": "none", "markevery": 1}
    elif curve.style == "steps":
        look |= {"drawstyle": "steps-post"}
    elif curve.style == "dashed":
        look |= {"linestyle": "--", "marker": None, "color": "0.5", "linewidth": 0.9}
    axes.plot(x, y, **look)
