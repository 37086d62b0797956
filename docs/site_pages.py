"""What the site needs beyond the pages in docs/: `mkdocs build` calls these hooks.

The pages of the repository's root become pages of the site. A link from docs/ to any other file of
the repository works on a code host, but the site has no such page: there it becomes plain text.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
ROOT_PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#]+)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root."""
    for name in ROOT_PAGES:
        text = (ROOT / name).read_text("utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links that leave docs/ to the site's own pages, or make them plain text.

    The wide tables of results get the room of the table of contents.
    """
    if page.file.src_uri.startswith("results/"):
        page.meta["hide"] = ["toc"]
        markdown = markdown.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    folder = (Path(config.docs_dir) / page.file.src_uri).parent

    def on_site(link: re.Match[str]) -> str:
        text, up, target, anchor = link.groups()
        path = (folder / up / target).resolve()
        if path.is_relative_to(config.docs_dir):
            return link.group()
        if path.parent == ROOT and path.name in ROOT_PAGES:
            depth = "../" * page.file.src_uri.count("/")
            return f"[{text}]({depth}{path.name}{anchor or ''})"
        return str(text)

    return LINK.sub(on_site, markdown)
