"""Numbers as spreadsheets show them."""

import pytest

from lightrag_dagster.readers.office.sheets.number_formats import general, number_format


def shown(code: str | None, value: float, number: int = 200, *, since_1904: bool = False) -> str:
    return (number_format(code, number, since_1904=since_1904) or general)(float(value))


# Reported cases B1, B1b.
@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("0.0%", 0.155, "15.5%"),
        ("0%", 1, "100%"),
        ("+0.0%;-0.0%", -0.034, "-3.4%"),
        ('"€"#,##0.00', 1234.5, "€1,234.50"),
        ("0.00 EUR", 1234.5, "1234.50 EUR"),
        ("0.00E+00", 1234.5, "1.23E+03"),
        ("[$€-407] #,##0.00", 9876543.215, "€ 9,876,543.22"),
        ('#,##0.00\\ "€"', 1234.5, "1,234.50 €"),
        ('_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', -1234.5, "$(1,234.50)"),
        ("#,##0;(#,##0)", -5, "(5)"),
        ("[Red]0.00;[Blue]-0.00", -3.456, "-3.46"),
        ("0.00", 2.675, "2.68"),
        ("0.000", -0.0001, "0.000"),
        ("00000", 5, "00005"),
        ("000-00-0000", 123456789, "123-45-6789"),
        ('"No. "0000', 7, "No. 0007"),
        ("[<=9999999]###-####;(###) ###-####", 5551234, "555-1234"),
        ("[<=9999999]###-####;(###) ###-####", 2125551234, "(212) 555-1234"),
        ('0.0,,"M"', 12345678, "12.3M"),
        ("0.##", 5, "5"),
        ("0.00E+00", 123456, "1.23E+05"),
        ('0 "kg"', 12.5, "13 kg"),
        ("# ?/?", 1.5, "1.5"),
        (";;;", 5, "5"),
        ("General", 0.1 + 0.2, "0.3"),
        ("General", 12345678901234, "12345678901234"),
        ("General", 1 / 3, "0.333333333333333"),
        ("General", 9999999999.99, "9999999999.99"),
        ("General", 0.000123456789, "0.000123456789"),
        ("General", 1e-7, "1E-07"),
        ("General", 1.5e20, "1.5E+20"),
        ("General", -0.0, "0"),
        ('0." Tag"', 3, "3. Tag"),
        ("#,##0.-", 1250, "1,250.-"),
        ("@", 5, "5"),
        ('General" m"', 5.5, "5.5 m"),
        ('"No. "General', -7, "-No. 7"),
        ('"Yes";"Yes";"No"', 1, "Yes"),
        ('"Yes";"Yes";"No"', 0, "No"),
        ('[=1]"on";[=0]"off";General', 1, "on"),
        ('[=1]"on";[=0]"off";General', 5, "5"),
        ("##0.0E+0", 12345, "12.3E+03"),
        ("##0.0E+0", 0.00012, "120.0E-06"),
        ("##0.0E+0", 0, "0.0E+00"),
        ('[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', 2500, "2.5K"),
        ("0", 123456789012345, "123456789012345"),
    ],
)
def test_numbers(code: str, value: float, expected: str) -> None:
    assert shown(code, value) == expected


# Reported cases B1, B1b.
@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("mmm yyyy", 45352, "Mar 2024"),
        ("mmmm yyyy", 45352, "March 2024"),
        ("mmm-yy", 45352, "Mar-2024"),
        ('[$-411]ggge"年"m"月"', 45352, "2024年3月"),
        ("[$-404]e/m", 45352, "2024/3"),
        ("mmmm b1yyyy", 45352, "March 2024"),
        ("mmmm bbbb", 45352, "March 2024"),
        ('ggge"年"m"月"d"日"', 45356, "2024-03-05"),
        ("yyyy", 45352, "2024"),
        ("dd/mm/yyyy", 45356, "2024-03-05"),
        ('yyyy"年"m"月"d"日"', 45356, "2024-03-05"),
        ("[$-F800]dddd, mmmm dd, yyyy", 45356, "2024-03-05"),
        ("m/d/yy h:mm", 45356.7, "2024-03-05 16:48"),
        ("yyyy-mm-dd h:mm:ss", 45356.60416666666, "2024-03-05 14:30:00"),
        ("hh:mm", 0.3854166666666667, "09:15"),
        ("h:mm AM/PM", 0.75, "6:00 PM"),
        ("[h]:mm", 1.086805555555556, "26:05"),
        ("[mm]:ss", 0.01, "14:24"),
        ("mm:ss.0", 0.0012345, "01:46.7"),
        ("[h]:mm:ss", -0.5, "-12:00:00"),
        ('d "days" h "h"', 3.5, "3 days 12 h"),
        ('d "d" hh:mm', 45.25, "45 d 06:00"),
        ('dd"." mmm', 45356, "2024-03-05"),
        ('d"日"', 45356, "2024-03-05"),
        ("dd/mm/yyyy", -3, "-3"),
        ("dd/mm/yyyy", 1, "1900-01-01"),
        ("dd/mm/yyyy", 9e9, "9000000000"),
    ],
)
def test_dates_and_times(code: str, value: float, expected: str) -> None:
    assert shown(code, value) == expected


def test_formats_without_a_code_go_by_their_number() -> None:
    assert [shown(None, 0.155, number) for number in (0, 9, 10, 20, 46)] == [
        "0.155",
        "16%",
        "15.50%",
        "3:43",
        "3:43:12",
    ]
    assert shown(None, 45356, 14) == "2024-03-05"
    assert shown(None, 45356 - 1462, 14, since_1904=True) == "2024-03-05"
    assert shown(None, -5, 38) == "(5)"
