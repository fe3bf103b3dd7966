#!/usr/bin/python3
"""Draws a result of fuse-bench as an SVG of horizontal bars: the fraction of the copy bandwidth.

    bench/chart.py bench/results/h200_DATE.json > bench/results/h200_DATE.svg
"""
import json
import sys

BAR, GAP, LEFT, WIDTH = 18, 8, 220, 480


def bar(y, row):
    fraction = row["fraction_of_copy"]
    length = fraction * WIDTH
    return [
        f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{row["name"]}</text>',
        f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" fill="#3b6ea5"/>',
        f'<text x="{LEFT + length + 6:.1f}" y="{y + 13}">{100 * fraction:.0f} %</text>',
    ]


def chart(result):
    rows = result["rows"]
    height = 50 + len(rows) * (BAR + GAP)
    copy = result["copy_bytes_per_second"]
    copy = copy[0] if isinstance(copy, list) else copy
    copy = copy if isinstance(copy, (int, float)) else copy["before"]
    title = (f'{result["device"]}, {result["date"]}: GPU time as a fraction of a device copy '
             f'({copy / 1e12:.2f} TB/s)')
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 80}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-size="13">{title}</text>',
        f'<line x1="{LEFT + WIDTH}" y1="32" x2="{LEFT + WIDTH}" y2="{height - 8}" stroke="#999"/>',
    ]
    for i, row in enumerate(rows):
        lines += bar(38 + i * (BAR + GAP), row)
    return "\n".join(lines + ["</svg>"])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(chart(json.load(file)))
