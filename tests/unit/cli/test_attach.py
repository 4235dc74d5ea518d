"""Images for `brain chat`, read from files."""

from pathlib import Path

import pytest

from brain.cli.attach import MOST_BYTES, NoImage, read_image

PNG = b"\x89PNG\r\n\x1a\n...."


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_what_a_file_is_its_content_says(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "named.txt"
    path.write_bytes(content)

    image = read_image(str(path))
    assert (image.mime_type, image.content) == (kind, content)


@pytest.mark.parametrize("typed", ["'a b.png'", '"a b.png"', r"a\ b.png", "a b.png"])
def test_a_name_may_be_quoted_as_terminals_do(
    tmp_path: Path, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a b.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)

    assert read_image(typed).name == "a b.png"


def test_a_name_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert read_image("~/a.png").content == PNG


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "name a file"),
        ("nowhere.png", "nowhere.png can't be read: No such file"),
        (".", "is not a file"),
        ("/dev/zero", "is not a file"),
        ("text.png", "no image that models read"),
        ("empty.png", "no image that models read"),
        ("big.png", "too big"),
        ("a\0b", "can't be read"),
        ("~nobody-here/a.png", "can't be read"),
        ("'open", "can't be read"),
    ],
)
def test_what_can_not_be_attached_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, says: str
) -> None:
    (tmp_path / "text.png").write_text("words")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "big.png").write_bytes(PNG + bytes(MOST_BYTES))
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NoImage) as refused:
        read_image(typed)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_all_images_of_a_message_must_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)

    assert read_image(str(path), room=len(PNG)).content == PNG
    with pytest.raises(NoImage, match="too big"):
        read_image(str(path), room=len(PNG) - 1)
