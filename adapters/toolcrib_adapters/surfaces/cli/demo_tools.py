"""Three small tools described in Chinese, for `toolcrib demo`; also an example of a tool file."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from toolcrib_protocol.function_tool import tool

_DIGITS: Final = "零壹贰叁肆伍陆柒捌玖"
_UNITS: Final = ("", "拾", "佰", "仟")
_SECTIONS: Final = ("", "万", "亿")
_FOUR_DIGITS: Final = 1_000
_ANIMALS: Final = "鼠牛虎兔龙蛇马羊猴鸡狗猪"
_HOURS: Final = "子丑寅卯辰巳午未申酉戌亥"


@tool(read_only=True, idempotent=True, open_world=False, tags=["发票", "财务"])
def amount_in_capitals(yuan: Annotated[int, Field(ge=0, lt=10**12)]) -> str:
    """把人民币金额写成大写汉字，用于发票、支票和合同。

    Args:
        yuan: 金额，单位为元。
    """
    if yuan == 0:
        return "零元整"
    sections: list[str] = []
    for place, section in enumerate(_SECTIONS):
        part = yuan // 10_000**place % 10_000
        if part:
            # A zero is read before a section of fewer than four digits that is not the first.
            is_short = part < _FOUR_DIGITS and yuan >= 10_000 ** (place + 1)
            sections.append(f"{'零' if is_short else ''}{_four_digits(part)}{section}")
    return "".join(reversed(sections)) + "元整"


def _four_digits(number: int) -> str:
    written = ""
    for place in range(3, -1, -1):
        digit = number // 10**place % 10
        if digit:
            written += _DIGITS[digit] + _UNITS[place]
        elif written and number % 10**place and not written.endswith("零"):
            written += "零"
    return written


@tool(read_only=True, idempotent=True, open_world=False, tags=["历法"])
def zodiac_animal(year: Annotated[int, Field(ge=1, le=9999)]) -> str:
    """查询某个公历年份的生肖，也就是属什么。

    Args:
        year: 公历年份。
    """
    return _ANIMALS[(year - 4) % 12]


@tool(read_only=True, idempotent=True, open_world=False, tags=["历法"])
def ancient_hour(hour: Annotated[int, Field(ge=0, le=23)]) -> str:
    """把二十四小时制的钟点换成古代的时辰。

    Args:
        hour: 钟点，0 到 23。
    """
    return f"{_HOURS[(hour + 1) // 2 % 12]}时"
