"""A memory store that does what a file says."""


class FaultyStore:
    def __init__(self, path):
        self.path = path
        self.uri = f"memory:?fault_file={path}"
        self.set("ok")

    def set(self, word):
        # By rename, so that no reader meets an empty file.
        fresh = self.path.with_suffix(".new")
        fresh.write_text(word)
        fresh.replace(self.path)
