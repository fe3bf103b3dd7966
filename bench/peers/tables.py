"""What the tables have in common: results as files have them, and Markdown."""
import json


def load(folders, name):
    return [json.loads((f / name).read_text()) for f in folders if (f / name).exists()]


def copy_of(document):
    copies = document["copy_bytes_per_second"]
    return sum(copies) / len(copies) if isinstance(copies, list) else copies


def ours(documents):
    """name -> row, with the copy bandwidths."""
    return {row["name"]: {**row, "us copy": copy_of(d),
                          "queued_us copy": d.get("copy_queued_bytes_per_second")}
            for d in documents for row in d["rows"]}


def theirs(documents):
    """mode -> name -> numbers, with the copy bandwidths beside the times."""
    modes = {}
    for document in documents:
        for mode, measured in document["modes"].items():
            copies = {"us copy": measured["copy_bytes_per_second"],
                      "queued_us copy": measured.get("copy_queued_bytes_per_second")}
            for name, numbers in measured["rows"].items():
                modes.setdefault(mode, {})[name] = {**numbers, **copies}
    return modes


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def lines_of(head, body):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head),
            *("| " + " | ".join(row) + " |" for row in body)]
