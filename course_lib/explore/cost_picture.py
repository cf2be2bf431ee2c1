"""What attention costs, as a picture for readers without a kernel: multiplications over the length, and memory."""

from course_lib import figures

from .base import MARK
from .cost_counts import CHOICES, KEPT, PLACES, bytes_in_words, crossing, grouped, layer, memory, multiplications

LOOKS = {"attention": {"color": MARK, "ls": "-"}, "rest": {"color": figures.LINES[0], "ls": "--"},
         "gru": {"color": "#767676", "ls": ":"}}  # fmt: skip
NAMED = {1e3: "1 KB", 1e6: "1 MB", 1e9: "1 GB", 1e12: "1 TB", 1e15: "1 PB"}


def picture(shown):
    """The present state of a Cost as a matplotlib figure."""
    figure, (chart, bars) = figures.panels(2, width=4.4, height=3.2)
    figure.get_layout_engine().set(wspace=0.08)
    _chart(chart, shown, shown.setting())
    _bars(bars, shown, memory(shown.setting()))
    return figure


def curves(s):
    """{line: its number at each of the lengths to choose from}: the twin of the page."""
    found = {name: [] for name in LOOKS}
    for length in CHOICES["length"]:
        at = s._replace(length=length)
        whole, attention = layer(at)
        numbers = {"attention": attention, "rest": whole - attention, "gru": multiplications(at)["gru"]}
        for name in LOOKS:
            found[name].append(numbers[name])
    return found


def _chart(axes, shown, s):
    lengths, lines, at = CHOICES["length"], curves(s), crossing(s)
    for name, numbers in lines.items():
        axes.plot(lengths, numbers, lw=2.5, label=shown.say(name), **LOOKS[name])
        axes.plot([s.length], [numbers[lengths.index(s.length)]], "o", color=LOOKS[name]["color"])
    axes.axvline(s.length, color="black", lw=1)
    if at:
        axes.axvline(at, ymax=0.5, color=MARK, lw=1.2, ls=":")
        apart = {"ha": "left" if s.length < at else "right", "xytext": (4 if s.length < at else -4, 4)}
        axes.annotate(grouped(at), (at, 1e3), textcoords="offset points", fontsize=8, **apart)
    axes.set(xscale="log", yscale="log", ylim=(1e3, 1e17))
    axes.set_xlabel(shown.say("tokens"), fontsize=8)
    axes.set_xticks(lengths[::4], [grouped(length) for length in lengths[::4]])
    axes.minorticks_off()
    axes.tick_params(labelsize=8)
    axes.set_title(shown.say("chart"), fontsize=9)
    axes.legend(fontsize=8, loc="upper left")


def _bars(axes, shown, kept):
    most = max(kept, key=kept.get)
    for at, name in enumerate(KEPT):
        if kept[name]:  # what is smaller than the axis begins is still a stub
            colour = MARK if name == most else figures.LINES[0]
            axes.barh([-at], [max(kept[name], 1.3e3)], height=0.4, color=colour, zorder=2)
        text = f"{shown.word(name)}: {bytes_in_words(kept[name])}"
        axes.annotate(text, (1.2e3, 0.28 - at), fontsize=8, zorder=4)
    axes.set(xscale="log", xlim=(1e3, 1e17), ylim=(-2.5, 0.6))
    for at, (bytes_, name) in enumerate(PLACES):
        axes.axvline(bytes_, color="black", lw=1.2, ls="--" if at else "-", zorder=3)
        look = {"ha": "left" if at else "right", "fontsize": 7.5}
        axes.annotate(shown.say(name), (bytes_, -2.45), (3 if at else -3, 2), textcoords="offset points", **look)
    axes.set_xticks(list(NAMED), list(NAMED.values()))
    axes.minorticks_off()
    axes.set_yticks([])
    axes.tick_params(labelsize=8)
    axes.set_title(shown.say("bars", texts=shown.texts), fontsize=9)
