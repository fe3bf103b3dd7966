"""Forward and backward, plan by plan and beside a peer, as Markdown: what table.py sets behind the suite."""
import re

from tables import copy_of, lines_of, load, ours, percent, theirs

SUITES = ["gradients", "random"]


def us_of(numbers):
    return f"{numbers['us']:.1f}" if numbers and numbers.get("us") else "-"


def megabytes(bytes_):
    return f"{bytes_ / 1e6:,.1f}"


def plans_of(row):
    return {plan["name"]: plan for plan in row["plans"]}


def program_cell(program):
    if not program.get("us"):
        return "-"
    return f"{program['us']:.1f} ({percent(program['fraction_of_copy'])})"


def plan_rows(rows):
    """The chosen plan of each row beside the others."""
    for name, row in rows.items():
        if "error" in row:
            yield [name, "failed", *[""] * 9]
            continue
        plans = plans_of(row)
        chosen = plans[row["chosen"]]
        passes = [chosen[part]["passes"] for part in ("forward", "backward")]
        yield [name, row["chosen"], program_cell(chosen["forward"]), program_cell(chosen["backward"]),
               us_of(chosen), f"{chosen['predicted_us']:.1f}", f"{passes[0]} + {passes[1]}",
               megabytes(chosen["kept_bytes"]), us_of(plans.get("store all")), us_of(plans.get("recompute")),
               f"{100 * row['behind']:+.1f} %" if "behind" in row else "-"]


def peer_rows(rows, peer):
    for name, row in rows.items():
        other = peer.get(name)
        if "error" in row or not other:
            continue
        if "error" in other:
            yield [name, us_of(row), "failed", *[""] * 4]
            continue
        chosen = plans_of(row)[row["chosen"]]
        lead = f"{other['us'] / row['us']:.2f}x" if row.get("us") else "-"
        yield [name, us_of(row), us_of(other), lead, f"{other['forward_us']:.1f}", f"{other['backward_us']:.1f}",
               f"{megabytes(chosen['kept_bytes'])} / {megabytes(other['kept_bytes'])}"]


def total_line(rows, peer):
    both = [(row["us"], peer[name]["us"]) for name, row in rows.items()
            if row.get("us") and peer.get(name, {}).get("us")]
    if not both:
        return []
    own, other = map(sum, zip(*both))
    slower = sum(mine > theirs for mine, theirs in both)
    return ["", f"Together {own:,.0f} us beside {other:,.0f} us; slower in {slower} of {len(both)} rows."]


def suite_lines(folders, name):
    documents = load(folders, f"{name}.json")
    if not documents:
        return []
    rows, modes = ours(documents), theirs(load(folders, f"torch_{name}.json"))
    heads = ["row", "plan", "forward us", "backward us", "total us", "predicted us", "HBM passes", "kept MB",
             "store all us", "recompute us", "behind the faster of these"]
    lines = [f"## Forward and backward: {name}", "",
             f"Copy in the same process {copy_of(documents[-1]) / 1e12:.2f} TB/s. Ideal bytes: each input of a "
             "program of the chosen plan read once, each output written once.", "",
             *lines_of(heads, plan_rows(rows)), ""]
    for mode, peer in modes.items():
        heads = ["row", "fuse us", f"torch {mode} us", "lead", "its forward", "its backward", "kept MB, ours / its"]
        lines += [*lines_of(heads, peer_rows(rows, peer)), *total_line(rows, peer), ""]
    return lines


def by_chain(rows):
    """kind -> [(length, row)], ascending."""
    kinds = {}
    for name, row in rows.items():
        kind, length = re.fullmatch(r"chain (.*) x(\d+)", name).groups()
        kinds.setdefault(kind, []).append((int(length), row))
    return {kind: sorted(found, key=lambda pair: pair[0]) for kind, found in kinds.items()}


def longest(chains, is_recomputed):
    """The length up to which all of these are; what is below the shortest is not known."""
    length = chains[0][0] - 1
    for n, row in chains:
        if not is_recomputed(row):
            return str(length)
        length = n
    return f"{length} or more"


def chosen_recomputes(row):
    return row["chosen"] == "recompute"


def measured_recomputes(row):
    plans = plans_of(row)
    return plans["recompute"]["us"] <= plans["store all"]["us"]


def chain_rows(rows):
    for kind, chains in by_chain(rows).items():
        if any("us" not in row for _, row in chains):
            yield [kind, "-", "-", "-"]
            continue
        worst, at = max((row["behind"], n) for n, row in chains)
        yield [kind, longest(chains, chosen_recomputes), longest(chains, measured_recomputes),
               f"{100 * worst:+.1f} % at {at}"]


def chain_lines(folders):
    rows = ours(load(folders, "chains.json"))
    if not rows:
        return []
    return ["## Chains f(x) * w", "", "The longest that is computed again rather than stored.", "",
            *lines_of(["chain", "chosen", "faster when measured", "worst choice"], chain_rows(rows)), ""]


def gradient_lines(folders):
    return [line for name in SUITES for line in suite_lines(folders, name)] + chain_lines(folders)
