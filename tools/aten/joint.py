"""A model's forward and backward graph as one, united by the names of their nodes."""


def outputs_of(graph):
    node = next(n for n in graph["nodes"] if n["op"] == "output")
    return node["args"][0]


def placeholders_of(graph):
    return [n["name"] for n in graph["nodes"] if n["op"] == "placeholder"]


def forward_of(backward, forwards):
    """The forward graph whose outputs are what the backward graph reads, tangents aside."""
    wanted = {n for n in placeholders_of(backward) if not n.startswith("tangents")}
    for graph in forwards:
        if wanted <= {o["ref"] for o in outputs_of(graph) if o}:
            return graph
    return None


def unite(forward, backward):
    """Values that forward saved for backward are no outputs any more; the first output, the loss or
    the result, stays one."""
    names = {n["name"] for n in forward["nodes"]}
    saved = set(placeholders_of(backward))
    results = [o for i, o in enumerate(outputs_of(forward)) if o and (i == 0 or o["ref"] not in saved)]
    nodes = [n for n in forward["nodes"] if n["op"] != "output"]
    nodes += [n for n in backward["nodes"]
              if n["op"] != "output" and not (n["op"] == "placeholder" and n["name"] in names)]
    output = {"name": "output", "op": "output", "args": [results + outputs_of(backward)],
              "kwargs": {}}
    return {"model": forward["model"], "kind": "joint", "id": f"{forward['id']}+bwd",
            "nodes": nodes + [output]}


def joint_graphs(graphs, model):
    """One graph for every backward graph of the model that has its forward."""
    of_model = [g for g in graphs if g["model"] == model]
    forwards = [g for g in of_model if g["kind"] == "fwd"]
    pairs = [(forward_of(g, forwards), g) for g in of_model if g["kind"] == "bwd"]
    return [unite(forward, backward) for forward, backward in pairs if forward]
