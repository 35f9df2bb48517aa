"""Differences and contrasts of colors, as people with and without all cones see them."""

import math

# How people without the red, green or blue cones see linear RGB: Machado, Oliveira and Fernandes, 2009.
SEEN_BY = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def difference(one, other, vision="all"):
    """Return CIEDE2000, the perceived difference of two colors `#rrggbb`; 1 is just seen, side by side."""
    (l1, a1, b1), (l2, a2, b2) = (_lab(_product(SEEN_BY[vision], _linear(color))) for color in (one, other))
    stretch = 1.5 - 0.5 * _saturation((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2)
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.atan2(b1, a1), math.atan2(b2, a2)
    turn = (h2 - h1 + math.pi) % math.tau - math.pi
    lightness, chroma, hue = (l1 + l2) / 2, (c1 + c2) / 2, math.degrees(h1 + turn / 2) % 360

    def wave(times, shift):
        return math.cos(math.radians(times * hue + shift))

    weight = 1 - 0.17 * wave(1, -30) + 0.24 * wave(2, 0) + 0.32 * wave(3, 6) - 0.2 * wave(4, -63)
    squared = (lightness - 50) ** 2
    of_lightness = (l2 - l1) / (1 + 0.015 * squared / math.sqrt(20 + squared))
    of_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    of_hue = 2 * math.sqrt(c1 * c2) * math.sin(turn / 2) / (1 + 0.015 * chroma * weight)
    rotation = -2 * _saturation(chroma) * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt(of_lightness**2 + of_chroma**2 + of_hue**2 + rotation * of_chroma * of_hue)


def contrast(one, other):
    """Return the contrast of two colors `#rrggbb` by WCAG, from 1 to 21."""
    low, high = sorted(
        sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), _linear(color), strict=True)) for color in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


def blend(above, below, opacity):
    """Return a color `#rrggbb` with some opacity on another."""
    channels = (
        round(opacity * int(above[place : place + 2], 16) + (1 - opacity) * int(below[place : place + 2], 16))
        for place in (1, 3, 5)
    )
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _linear(color):
    values = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return [((value + 0.055) / 1.055) ** 2.4 if value > 0.04045 else value / 12.92 for value in values]


def _product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def _lab(rgb):
    to_xyz = ((0.4339, 0.3762, 0.1899), (0.2126, 0.7152, 0.0722), (0.0177, 0.1095, 0.8728))  # by the white point
    seen = [min(max(channel, 0), 1) for channel in rgb]
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in _product(to_xyz, seen))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _saturation(chroma):
    return math.sqrt(chroma**7 / (chroma**7 + 25**7))
