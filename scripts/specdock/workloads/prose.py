"""Cuts prose into prompts of a wanted length, so that prefill can be measured at that length."""

from pathlib import Path

from tokenizers import Tokenizer

from specdock.plan.models import DataSet
from specdock.workloads.prompts import Prompt, WorkloadError, read_rows


def cut_prompts(
    name: str, data_set: DataSet, folder: Path, target: Path, tokens: int, count: int
) -> list[Prompt]:
    """`count` prompts, each over a passage of `tokens` tokens of the target's tokenizer.

    No two passages start at the same place, so that no prompt is another's prefix. The reader's
    template and the chat template come on top, and a word cut in two may count as another number
    of tokens; the server's usage says what was really read. Raises `WorkloadError` for a text that
    is too short or a target without tokenizer.json.
    """
    text = "\n".join(row["text"] for row in read_rows(name, data_set, folder))
    offsets = _tokenizer(target).encode(text, add_special_tokens=False).offsets
    stride = (len(offsets) - tokens) // count
    if stride < 1:
        raise WorkloadError(
            f"{name}: its {len(offsets)} tokens cannot give {count} passages of {tokens} that "
            "start at different places; lower `prompt_tokens` or choose a longer text"
        )
    passages = [
        text[offsets[start][0] : offsets[start + tokens - 1][1]]
        for start in range(0, count * stride, stride)
    ]
    template = data_set.reader.prompt
    return [
        Prompt(f"{name}-{tokens}-{index}", [{"role": "user", "content": template.format(text=p)}])
        for index, p in enumerate(passages)
    ]


def _tokenizer(target: Path) -> Tokenizer:
    path = target / "tokenizer.json"
    if not path.is_file():
        raise WorkloadError(
            f"{path}: no such file, but `prompt_tokens` counts with the target's tokenizer\n"
            "  add tokenizer.json to the target's files in config/models.yaml"
        )
    return Tokenizer.from_file(str(path))
