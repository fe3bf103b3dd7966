#!/usr/bin/env python3
"""What PyTorch's compiler spends between the library's kernels of the models in bench/suite/models.json,
into $OUT/models_torch.json.

    bench/peers/inductor_models.py                  all of them, about 3 minutes
    bench/peers/inductor_models.py llama vit

A training step, forward and backward, of the sizes that were recorded. Its generated kernels are timed
by the profiler. What is an extern operation with fuse is left out, by name: kernels that add to
positions that may repeat, and pooling.
"""
import collections
import datetime
import json
import os
import re
import sys
import time
import warnings

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
warnings.filterwarnings("ignore")

import results
try:
    import timm
    import torch
    import transformers
    from torch._inductor import metrics
    from torch._inductor.utils import run_and_get_code
    from torch.profiler import ProfilerActivity, profile
except ImportError as error:
    print(f"inductor_models: skipped: {error}")
    sys.exit(0)

STEPS = 5


def tokens(batch, length, vocabulary):
    ids = torch.randint(0, vocabulary, (batch, length), device="cuda")
    return {"input_ids": ids, "labels": ids}


def llama():
    config = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=1,
        num_attention_heads=32, num_key_value_heads=8, attn_implementation="eager", use_cache=False)
    return transformers.LlamaForCausalLM(config), tokens(2, 2048, 32000)


def gpt2():
    config = transformers.GPT2Config(n_layer=1, attn_implementation="eager", use_cache=False)
    return transformers.GPT2LMHeadModel(config), tokens(8, 1024, 50257)


def bert():
    config = transformers.BertConfig(hidden_size=1024, num_hidden_layers=1, num_attention_heads=16,
                                     intermediate_size=4096, attn_implementation="eager")
    return transformers.BertForMaskedLM(config), tokens(32, 512, 30522)


def images(batch):
    return torch.randn(batch, 3, 224, 224, device="cuda", dtype=torch.bfloat16)


def vit():
    config = transformers.ViTConfig(hidden_size=1024, num_hidden_layers=1, num_attention_heads=16,
                                    intermediate_size=4096, num_labels=10, attn_implementation="eager")
    labels = torch.randint(0, 10, (64,), device="cuda")
    return transformers.ViTForImageClassification(config), {"pixel_values": images(64), "labels": labels}


def of_timm(name):
    return lambda: (timm.create_model(name, pretrained=False), {"x": images(16)})


MODELS = {"llama": llama, "gpt2": gpt2, "bert": bert, "vit": vit,
          "convnext_tiny": of_timm("convnext_tiny"), "resnet50": of_timm("resnet50")}


def loss_of(output):
    if getattr(output, "loss", None) is not None:
        return output.loss
    return output.float().square().mean()


def step_of(model, arguments):
    compiled = torch.compile(model, dynamic=False)

    def step():
        loss_of(compiled(**arguments)).backward()
        model.zero_grad(set_to_none=True)
    return step


def first_call(step):
    """Seconds, and the code that was generated."""
    start = time.perf_counter()
    _, codes = run_and_get_code(step)
    torch.cuda.synchronize()
    return time.perf_counter() - start, codes


def kernel_times(step):
    """name -> (launches, microseconds) of a step, in the GPU's own time."""
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as run:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    times = collections.defaultdict(lambda: [0, 0.0])
    for event in run.events():
        if event.device_type.name == "CUDA" and event.device_time_total > 0:
            times[event.name][0] += 1 / STEPS
            times[event.name][1] += event.device_time_total / STEPS
    return times


def scatters(codes):
    """Names of generated kernels that add to memory atomically."""
    adds = collections.defaultdict(list)
    for name, body in re.findall(r"async_compile\.triton\('(\w+)', '''(.*?)'''", "\n".join(codes), re.S):
        adds[name].append("tl.atomic_add" in body)  # the metadata names it too
    return {name for name, found in adds.items() if all(found)}


def measure(name):
    torch._dynamo.reset()
    metrics.reset()
    torch.manual_seed(0)
    model, arguments = MODELS[name]()
    step = step_of(model.to("cuda", torch.bfloat16).train(), arguments)
    first, codes = first_call(step)
    times = kernel_times(step)
    generated = {k: t for k, t in times.items() if k.startswith("triton")}
    apart = scatters(codes)
    left_out = {k: us for k, (_, us) in generated.items() if k in apart or "max_pool" in k}
    glue = {k: t for k, t in generated.items() if k not in left_out}
    return {"generated": metrics.generated_kernel_count, "first_s": first,
            "launches": sum(n for n, _ in glue.values()), "glue_us": sum(us for _, us in glue.values()),
            "total_us": sum(us for _, us in times.values()), "left_out": left_out,
            "kernels": sorted(([k, n, us] for k, (n, us) in glue.items()), key=lambda k: -k[2])}


def describe(name, found):
    if "error" in found:
        return f"{name:14} FAILED: {found['error']}"
    return (f"{name:14} {found['launches']:6.0f} launches {found['glue_us']:9.1f} us of "
            f"{found['total_us']:9.1f} us, first call {found['first_s']:.1f} s, left out "
            f"{sum(found['left_out'].values()):.1f} us in {len(found['left_out'])} kernels")


def main():
    parser = results.parser(__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("inductor_models: skipped: PyTorch sees no GPU")
        return
    path = options.out / "models_torch.json"
    document = {"peer": f"torch {torch.__version__}", "device": torch.cuda.get_device_name(),
                "date": datetime.date.today().isoformat(), "models": {}}
    start = time.monotonic()
    for name in options.models or MODELS:
        left = options.budget - (time.monotonic() - start)
        if left <= 0:
            print(f"budget of {options.budget:.0f} s spent before {name}")
            break
        try:
            with results.time_limit(min(2 * options.row_limit, left)):
                found = measure(name)
        except Exception as error:  # of whatever kind: it is a result of the peer
            found = {"error": f"{type(error).__name__}: {(str(error) or repr(error)).splitlines()[0][:200]}"}
        document["models"][name] = found
        path.write_text(json.dumps(document, indent=1) + "\n")
        print(describe(name, found), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
