"""The article's templates: filled with a study's bindings, and kept from printing anything else."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateSyntaxError,
    Undefined,
)
from jinja2 import TemplateError as JinjaError
from markupsafe import Markup

from specdock.article.bindings import binding_names, bindings
from specdock.article.bindings.names import Names
from specdock.article.lint import Report, denied, lint_templates
from specdock.article.printed import Label, Printed, TemplateError, here


def fill_templates(templates: Path, names: Names) -> str:
    """The article as Markdown in which every number is still a token of the names' register.

    Raises `TemplateError` for what templates may not do, and for a number that is never printed.
    """
    environment = _environment(templates)
    environment.globals.update(bindings(names))
    with _template_errors():
        text = environment.get_template("article.md.j2").render()
    unused = names.register.unused()
    if unused:
        lines = [
            f"{place}: {number.title} ({number.id}) is made and never printed"
            for number, place in unused
        ]
        raise TemplateError("\n".join(lines))
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def lint_article(templates: Path) -> Report:
    """Lints every template of an article."""
    return lint_templates(templates, _environment(templates), binding_names())


def _environment(folder: Path) -> Environment:
    """Jinja over the article's templates: nothing undefined, nothing printed but bindings."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_only_bindings,
    )


def _only_bindings(value: object) -> object:
    """Refuses to print a figure or a word of comparison that no binding made."""
    if isinstance(value, (Printed, Label)):
        return Markup(value.__html__())
    if isinstance(value, (Markup, Undefined)):
        return value
    if isinstance(value, str) and not any(denied(value)):
        return Markup(Label(value).__html__())
    raise TemplateError(
        f"{here()}: the template prints what no binding made\n"
        f"  found    {type(value).__name__} {str(value)[:80]!r}\n"
        "  allowed  n, ratio, fact, setting, count, verdict, label, ..., or words without figures"
    )


@contextmanager
def _template_errors() -> Iterator[None]:
    """Gives Jinja's own errors file and line."""
    try:
        yield
    except TemplateSyntaxError as error:
        raise TemplateError(f"article/{error.name}:{error.lineno}: {error.message}") from None
    except (JinjaError, TypeError, AttributeError) as error:
        traceback, place = error.__traceback__, "article"
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename.endswith(".j2"):
                file = Path(traceback.tb_frame.f_code.co_filename)
                place = f"{file.parent.name}/{file.name}:{traceback.tb_lineno}"
            traceback = traceback.tb_next
        raise TemplateError(f"{place}: {error}") from error
