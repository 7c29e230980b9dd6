"""Page: the rendered template as Markdown for a repository and as one self-contained HTML file."""
