"""A page, parsed back."""

from html.parser import HTMLParser

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """All elements with their attributes, the text of each kind, and whether what is opened is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open
        assert self.open[-1] == tag, f"</{tag}> within <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))

    def count(self, tag, kind=""):
        """How many elements there are of a tag, and perhaps of a class."""
        return sum(
            name == tag and (not kind or kind in attrs.get("class", "").split()) for name, attrs in self.elements
        )

    def text_of(self, *tags):
        """The text directly within these tags."""
        return [text for tag, text in self.texts if tag in tags]
