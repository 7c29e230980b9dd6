"""Bindings: what a template may print. Each looks its value up in the study, formats it and
registers it, so that every figure and every computed word on the page has an id, a source, a place.

A name that the study's data lack (a role no arm plays, a cell that was not run) prints `not run`; a
name that nothing knows (a metric that does not exist) is an error with the template's line.
"""

from collections.abc import Callable

from specdock.article.bindings.claims import Claims
from specdock.article.bindings.counts import Counts
from specdock.article.bindings.figures import Figures
from specdock.article.bindings.labels import Labels
from specdock.article.bindings.layouts import Layouts
from specdock.article.bindings.measured import Measured
from specdock.article.bindings.names import Names
from specdock.article.bindings.quotations import Quotations
from specdock.article.bindings.settings import Settings
from specdock.article.bindings.verdicts import Verdicts

FAMILIES = (Measured, Verdicts, Claims, Quotations, Layouts, Settings, Counts, Labels, Figures)


def bindings(names: Names) -> dict[str, Callable]:
    """Every public method of the families, by the name under which a template calls it."""
    return {
        name: getattr(family, name)
        for family in (cls(names) for cls in FAMILIES)
        for name in vars(type(family))
        if not name.startswith("_")
    }


def binding_names() -> set[str]:
    """The names that templates may call, for the lint."""
    return {name for cls in FAMILIES for name in vars(cls) if not name.startswith("_")}
