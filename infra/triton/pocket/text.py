"""The character vocabulary that every pocket model shares.

One token per printable ASCII character plus newline, so a prompt of n characters has n tokens. The
newline ends an answer and doubles as the end-of-sequence token.
"""

SPECIAL = ("<pad>", "<unk>")
VOCABULARY = (*SPECIAL, "\n", *map(chr, range(32, 127)))
PAD, UNKNOWN, NEWLINE = 0, 1, 2

_NUMBER = {character: number for number, character in enumerate(VOCABULARY)}


def encode(text: str) -> list[int]:
    """Token numbers of a text; a character outside the vocabulary becomes `<unk>`."""
    return [_NUMBER.get(character, UNKNOWN) for character in text]


def tokenizer() -> dict[str, object]:
    """The same vocabulary in the `tokenizer.json` format: a BPE without a single merge."""
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number, name in enumerate(SPECIAL)
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": _NUMBER,
            "merges": [],
        },
    }
