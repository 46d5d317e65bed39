"""Makes up annual reports and questions about them, always the same ones for a seed.

The reports have the parts of real ones: business, risks, discussion by the management, statements and notes,
with headers repeated on every page. Every company has its own words for the lines of its statements, and the
questions use others. Amounts are random: only the places of the answers matter.
"""
# ruff: noqa: E501  # the text of a page is easier to read in one piece

import random
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

YEAR = 2022

_DATA: dict[str, Any] = tomllib.loads((files(__package__) / "reports.toml").read_text("utf-8"))


@dataclass(frozen=True)
class ReportQuestion:
    """A question about one report, with the pages (from 1) that answer it. `kind` groups similar ones."""

    text: str
    pages: frozenset[int]
    kind: str


@dataclass(frozen=True)
class Report:
    """The text of each page, and where chapters begin: (level, title, page)."""

    company: str
    pages: tuple[str, ...] = field(repr=False)
    outline: tuple[tuple[int, str, int], ...] = field(repr=False)
    questions: tuple[ReportQuestion, ...] = field(repr=False)


class _Writer:
    def __init__(self, number: int, seed: int) -> None:
        self.random = random.Random(seed * 1000 + number)
        self.company = _DATA["companies"][number % len(_DATA["companies"])]
        self.short = self.company.split()[0]
        self.lines = {name: self.random.choice(names) for name, names in _DATA["lines"].items()}
        self.statements = {name: self.random.choice(names) for name, names in _DATA["statements"].items()}
        self.segments = self.random.sample(_DATA["segments"], 4)
        self.pages: list[str] = []
        self.outline: list[tuple[int, str, int]] = []
        self.places: dict[str, int] = {}
        self.running = ""
        self.upper = self.random.random() < 0.4

    # --- pieces ----------------------------------------------------------------------------------------

    def amount(self, size: int = 9000) -> str:
        return f"{self.random.randint(size // 30, size):,}"

    def row(self, label: str, columns: int, size: int = 9000) -> str:
        cells = [self.amount(size) for _ in range(columns)]
        if self.random.random() < 0.15:
            cells = [f"({cell})" for cell in cells]
        return f"{label} {' '.join(cells)}"

    def years(self, count: int) -> str:
        return " ".join(str(YEAR - ago) for ago in range(count))

    def heading(self, text: str, level: int) -> str:
        self.outline.append((level, text, len(self.pages) + 1))
        return text.upper() if self.upper and level == 1 else text

    def page(self, name: str, *parts: str) -> int:
        """Adds a page and returns its number."""
        number = len(self.pages) + 1
        head = [self.running] if self.running else []
        self.pages.append("\n\n".join(["Table of Contents", *head, *parts, str(number)]))
        self.places.setdefault(name, number)
        return number

    def risks(self, count: int) -> str:
        return " ".join(self.random.choice(_DATA["risks"]) for _ in range(2 * count))

    # --- chapters --------------------------------------------------------------------------------------

    def write(self) -> None:
        self._front()
        self._business()
        self._risk_factors()
        self._market()
        self._discussion()
        self._statements()
        self._notes()
        self._back()

    def _front(self) -> None:
        self.pages.append(
            f"UNITED STATES SECURITIES AND EXCHANGE COMMISSION\n\nFORM 10-K\n\nAnnual report for the fiscal year "
            f"ended December 31, {YEAR}\n\n{self.company}, Inc.\n\nSecurities registered pursuant to Section 12(b) "
            f"of the Act:\nTitle of each class Trading symbol Name of each exchange on which registered\n"
            f"Common Stock, par value $.01 per share {self.short[:4].upper()} New York Stock Exchange\n"
            f"1.500% Notes due 2026 {self.short[:3].upper()}26 New York Stock Exchange\n"
            f"1.750% Notes due 2030 {self.short[:3].upper()}30 New York Stock Exchange\n\n"
            f"Indicate by check mark whether the registrant is a well-known seasoned issuer. Yes No"
        )
        self.places["cover"] = 1
        names = "\n".join(f"{name} {40 + at}" for at, name in enumerate(self.statements.values()))
        self.page(
            "contents",
            "PART I\nItem 1. Business 3\nItem 1A. Risk Factors 13\nItem 2. Properties 25\nItem 3. Legal Proceedings 25\n"
            "PART II\nItem 5. Market for Registrant's Common Equity 26\nItem 7. Management's Discussion and Analysis 28\n"
            f"Item 7A. Quantitative and Qualitative Disclosures About Market Risk 39\nItem 8. Financial Statements 40\n{names}\n"
            "Notes to Consolidated Financial Statements 46\nPART III\nItem 10. Directors\nItem 15. Exhibits, Financial Statement Schedules",
        )

    def _business(self) -> None:
        head = self.heading("Item 1. Business", 1)
        self.page(
            "business",
            head,
            f"{self.company} is a diversified company with leading positions in its markets. It manages its operations in "
            f"{len(self.segments)} segments: {', '.join(self.segments)}. {self.risks(5)}",
        )
        for segment in self.segments:
            sub = self.heading(f"{segment} segment", 2)
            self.page(
                f"business {segment}",
                sub,
                f"The {segment} segment serves markets with products and services for customers in many countries. "
                f"Major products include tapes, coatings, sensors and services that are sold through distributors and "
                f"directly. {self.risks(7)}",
            )
        self.page(
            "customers",
            self.heading("Customers and distribution", 2),
            f"Products are sold to users and through wholesalers, retailers and distributors. In {YEAR} one customer, a "
            f"large retailer, represented {self.random.randint(10, 24)}% of consolidated sales. {self.risks(7)}",
        )
        self.page(
            "people",
            self.heading("Human capital", 2),
            f"At December 31, {YEAR}, the company employed approximately {self.amount(90_000)} people "
            f"worldwide, of whom 40% work in the United States. {self.risks(6)}",
        )
        self.page("competition", self.heading("Competition and raw materials", 2), self.risks(12))

    def _risk_factors(self) -> None:
        self.heading("Item 1A. Risk Factors", 1)
        for number in range(12):
            self.page(f"risk {number}", "Risk Factors (continued)", self.risks(9), self.risks(8))

    def _market(self) -> None:
        self.page(
            "legal",
            self.heading("Item 3. Legal Proceedings", 1),
            "Discussion of legal matters is incorporated by reference from the note Commitments and Contingencies.",
            self.heading("Item 2. Properties", 1),
            f"The company owns or leases {self.random.randint(40, 300)} plants, warehouses, offices and stores.",
        )
        self.page(
            "market",
            self.heading("Item 5. Market for Registrant's Common Equity", 1),
            f"The common stock is listed on the New York Stock Exchange. Cash dividends declared and paid totaled $1.{self.random.randint(10, 60)} "
            f"per share for each quarter of {YEAR}. The company has paid dividends since 1916 and raised them for {self.random.randint(20, 64)} years.",
            f"Issuer purchases of equity securities\nPeriod Total number of shares purchased Average price paid per share\n"
            f"October 1 - 31 {self.amount()} 112.10\nNovember 1 - 30 {self.amount()} 124.70\nDecember 1 - 31 {self.amount()} 121.93",
        )
        self.page(
            "performance",
            "Performance graph",
            f"The graph compares the total return on the common stock with an index over five years.\n{self.years(5)}\n"
            + self.row(self.company, 5, 300),
        )

        self.page(
            "selected",
            self.heading("Item 6. Selected Financial Data", 1),
            f"{self.years(5)}\n"
            + "\n".join(
                self.row(self.lines[one], 5)
                for one in (
                    "revenue",
                    "operating",
                    "net",
                    "eps",
                    "assets",
                    "debt",
                    "equity",
                    "capex",
                    "dividends",
                )
            ),
            self.risks(3),
        )

    def _discussion(self) -> None:
        self.running = f"{self.company}\nManagement's Discussion and Analysis of Financial Condition and Results of Operations"
        lines, rng = self.lines, self.random
        self.heading("Item 7. Management's Discussion and Analysis", 1)
        self.page(
            "overview",
            "Overview",
            f"{lines['revenue']} of {self.company} were ${self.amount()} million in {YEAR}, compared with ${self.amount()} million in {YEAR - 1}. "
            f"{lines['net']} was ${self.amount()} million. {self.risks(6)}",
        )
        drivers = rng.sample(_DATA["drivers"], 8)
        self.page(
            "results",
            self.heading("Results of operations", 2),
            f"Percent of {lines['revenue'].lower()} {self.years(2)} Change\n{lines['cost']} {rng.randint(40, 60)}.2% {rng.randint(40, 60)}.1% 1.{rng.randint(1, 9)}%\n"
            f"{lines['operating']} {rng.randint(10, 20)}.1% {rng.randint(10, 20)}.8% (1.{rng.randint(1, 9)})%",
            f"{lines['operating']} as a percent of {lines['revenue'].lower()} decreased compared with {YEAR - 1}, primarily due to {drivers[0]}, "
            f"{drivers[1]} and {drivers[2]}, which were partially offset by {drivers[3]}.",
            self.risks(4),
        )
        self.page(
            "cost of sales",
            f"{lines['cost']}: costs rose {rng.randint(2, 9)} percent because of {drivers[4]} and {drivers[5]}.",
            f"{lines['sga']} and {lines['research'].lower()} are discussed below. {self.risks(5)}",
        )
        table = "\n".join(
            f"{segment} {rng.randint(-9, 9)}.{rng.randint(0, 9)}% {rng.randint(-3, 3)}.1% {rng.randint(-5, 0)}.4% {rng.randint(-9, 9)}.2%"
            for segment in self.segments
        )
        self.page(
            "segments",
            self.heading("Performance by business segment", 2),
            f"{lines['revenue']} change by segment, {YEAR} compared with {YEAR - 1}\nOrganic Acquisitions Divestitures Translation Total\n{table}\n"
            f"Total company {rng.randint(-5, 5)}.2% 0.0% (0.4)% {rng.randint(-5, 5)}.0%",
            self.risks(3),
        )
        for segment in self.segments:
            self.page(
                f"segment {segment}",
                f"{segment}\n{self.years(3)}\n"
                + self.row(lines["revenue"], 3)
                + "\n"
                + self.row(lines["operating"], 3),
                f"{lines['revenue']} in {segment} changed by {rng.randint(1, 9)} percent, driven by {rng.choice(_DATA['drivers'])} and {rng.choice(_DATA['drivers'])}.",
                self.risks(6),
            )
        self.page(
            "liquidity",
            self.heading("Financial condition and liquidity", 2),
            f"The company continues to generate cash from operations and has access to capital markets. It maintains a credit facility of "
            f"${self.amount()} million. Net debt was ${self.amount()} million. Cash and marketable securities exceed short-term borrowings. "
            f"Working capital needs, dividends and share repurchases are funded from operations.",
            self.risks(5),
        )
        self.page(
            "spending",
            f"Cash flows from investing activities: spending on plants rose in {YEAR}. The company expects capital spending of ${self.amount(2000)} million in {YEAR + 1}. "
            f"It includes growth, productivity and maintenance.",
            f"Return of capital: the board authorized repurchases of up to ${self.amount()} million of common stock.",
            self.risks(6),
        )
        self.page(
            "cash summary",
            f"Summary of cash flows\n{self.years(3)}\n"
            + "\n".join(
                self.row(lines[one], 3)
                for one in ("operating_cash", "depreciation", "capex", "dividends", "buyback")
            ),
            f"Cash flows from operating, investing and financing activities are described above. {self.risks(5)}",
        )
        for number in range(4):
            self.page(
                "year before",
                f"{YEAR - 1} compared with {YEAR - 2}",
                f"{lines['revenue']}, {lines['gross'].lower()}, {lines['operating'].lower()} and operating margin changed because of "
                f"{rng.choice(_DATA['drivers'])} and {rng.choice(_DATA['drivers'])}. {self.risks(3 + number)}",
                self.row(lines["revenue"], 2)
                + "\n"
                + self.row(lines["cost"], 2)
                + "\n"
                + self.row(lines["operating"], 2),
            )
        self.page(
            "obligations",
            "Contractual obligations\n"
            + "\n".join(
                self.row(x, 4)
                for x in (lines["debt"], "Interest", "Operating leases", "Purchase obligations", "Pension")
            ),
            self.risks(5),
        )
        self.page("estimates", self.heading("Critical accounting estimates", 2), self.risks(12))
        self.page(
            "non-gaap",
            f"Non-GAAP measures: adjusted earnings, free cash flow and return on invested capital\n{self.years(3)}\n"
            + "\n".join(
                self.row(x, 3)
                for x in (
                    "Adjusted " + lines["net"].lower(),
                    "Free cash flow",
                    "Adjusted EBITDA",
                    "Return on invested capital",
                )
            ),
            self.risks(4),
        )
        self.page(
            "market risk",
            self.heading("Item 7A. Quantitative and Qualitative Disclosures About Market Risk", 1),
            "The company is exposed to changes in exchange rates, interest rates and commodity prices. A hypothetical change of ten percent would change "
            f"{lines['pretax'].lower()} by ${self.amount(300)} million. {self.risks(7)}",
        )

    def _statements(self) -> None:
        self.running = f"{self.company}"
        self.heading("Item 8. Financial Statements and Supplementary Data", 1)
        listed = ", ".join(name.lower() for name in self.statements.values())
        self.page(
            "audit",
            f"Report of Independent Registered Public Accounting Firm\n\nWe have audited the {listed} of {self.company} for each of the three years in the period "
            f"ended December 31, {YEAR}. In our opinion, the financial statements present fairly its financial position, the results of its operations and its cash flows.",
            "Critical audit matters: evaluation of legal proceedings, goodwill and income taxes. "
            + self.risks(4),
        )
        for name in ("income", "comprehensive", "balance", "cash", "equity"):
            title = self.heading(self.statements[name], 2)
            self.page(
                f"statement {name}",
                f"{title}\nYears ended December 31\n(Millions, except per share amounts)",
                getattr(self, f"_{name}")(),
            )

    def _income(self) -> str:
        return f"{self.years(3)}\n" + "\n".join(
            self.row(self.lines[one], 3) for one in _DATA["orders"]["income"]
        )

    def _comprehensive(self) -> str:
        names = (
            self.lines["net"],
            "Cumulative translation adjustment",
            "Defined benefit pension and postretirement plans adjustment",
            "Cash flow hedging instruments",
            "Comprehensive income",
        )
        return f"{self.years(3)}\n" + "\n".join(self.row(one, 3) for one in names)

    def _balance(self) -> str:
        return f"December 31 {self.years(2)}\nAssets\n" + "\n".join(
            self.row(self.lines[one], 2) for one in _DATA["orders"]["balance"]
        )

    def _cash(self) -> str:
        lines = self.lines
        parts = [
            "Cash Flows from Operating Activities", self.row(lines["net"], 3), self.row(lines["depreciation"], 3),
            self.row("Stock-based compensation expense", 3), self.row("Deferred income taxes", 3),
            "Changes in assets and liabilities", self.row(lines["receivables"].split(",")[0], 3), self.row(lines["inventory"], 3),
            self.row(lines["payables"], 3), self.row(lines["operating_cash"], 3), "Cash Flows from Investing Activities",
            self.row(lines["capex"], 3), self.row("Acquisitions, net of cash acquired", 3),
            self.row("Proceeds from sale of businesses", 3), self.row("Net cash used in investing activities", 3),
            "Cash Flows from Financing Activities", self.row("Repayment of debt", 3), self.row("Proceeds from debt", 3),
            self.row(lines["buyback"], 3), self.row(lines["dividends"], 3), self.row("Net cash used in financing activities", 3),
            "Effect of exchange rate changes on cash", self.row("Cash and cash equivalents at end of year", 3),
        ]  # fmt: skip
        return f"{self.years(3)}\n" + "\n".join(parts)

    def _equity(self) -> str:
        names = (
            "Balance at beginning of year",
            self.lines["net"],
            "Other comprehensive income",
            "Dividends declared",
            "Stock-based compensation",
            "Reacquired stock",
            "Balance at end of year",
        )
        return (
            "Common stock Retained earnings Treasury stock Accumulated other comprehensive income Total\n"
            + "\n".join(self.row(one, 5) for one in names)
        )

    def _notes(self) -> None:
        self.running = f"{self.company}\nNotes to Consolidated Financial Statements (Continued)\n(Millions, except per share amounts)"
        lines, rng = self.lines, self.random
        policies = list(_DATA["policies"].items())
        for number in range(0, len(policies), 4):
            body = [f"{name}: {text}" for name, text in policies[number : number + 4]]
            self.page("policies", "Note 1. Significant accounting policies", *body, self.risks(1))
        notes: Sequence[tuple[str, str, Sequence[str]]] = (
            ("Revenue", f"Disaggregated {lines['revenue'].lower()} by segment and region", (*self.segments, "Americas", "Asia Pacific", "Europe", lines["revenue"])),
            ("Acquisitions and divestitures", f"In {YEAR} the company acquired a maker of imaging software for ${self.amount(3000)} million and sold its food safety business.", ("Cash paid", "Intangible assets", "Goodwill", "Liabilities assumed")),
            ("Goodwill and intangible assets", "Changes in the carrying amount of goodwill by segment", (*self.segments, "Total", "Customer related intangible assets", "Amortization expense")),
            ("Restructuring actions", f"In {YEAR} management approved actions to reduce positions. Charges were recorded in {lines['cost'].lower()} and {lines['sga'].lower()}.", ("Employee related charges", "Asset related charges", "Accrued restructuring balance")),
            ("Supplemental income statement information", "Other expense and income", (lines["interest"], "Interest income", "Pension and postretirement net benefit")),
            ("Supplemental balance sheet information", "Inventories and property, plant and equipment at cost", ("Finished goods", "Work in process", "Raw materials and supplies", lines["inventory"], "Land", "Buildings", "Machinery and equipment", "Accumulated depreciation", lines["plant"])),
            ("Supplemental cash flow information", "Cash paid for income taxes and interest", ("Cash income tax payments", "Cash interest payments")),
            ("Income taxes", f"The effective income tax rate for {YEAR} was {rng.randint(12, 29)}.6 percent. Reconciliation to the statutory rate follows.", ("Statutory U.S. tax rate", "State taxes, net of benefit", "Foreign tax differential", "Effective tax rate", "Currently payable", "Deferred")),
            ("Long-term debt and short-term borrowings", "Maturities of long-term debt for the next five years", ("Fixed rate notes", "Floating rate notes", "Commercial paper", lines["debt"])),
            ("Pension and postretirement benefit plans", "Components of net periodic benefit cost", ("Service cost", "Interest cost", "Expected return on plan assets", "Projected benefit obligation", "Fair value of plan assets")),
            ("Derivatives", "Gains and losses on cash flow hedges and net investment hedges", ("Foreign currency forward contracts", "Interest rate contracts", "Total")),
            ("Fair value measurements", "Assets and liabilities measured at fair value", ("Marketable securities", "Derivative assets", "Derivative liabilities")),
            ("Commitments and contingencies", f"The company is a defendant in about {rng.randint(2000, 9000):,} lawsuits about respirator masks and in proceedings about earplugs. Accruals for legal proceedings are shown.", ("Accrued liabilities at beginning of year", "Accruals", "Payments")),
            ("Leases", "Maturity of lease liabilities", (f"{YEAR + 1}", f"{YEAR + 2}", f"{YEAR + 3}", "Weighted average discount rate")),
            ("Stock-based compensation", "Stock options, restricted stock units and performance shares", ("Options outstanding", "Granted", "Exercised", "Weighted average exercise price")),
            ("Business segments", "Information by segment: net sales, operating income, assets, depreciation and capital expenditures", (*self.segments, "Corporate and unallocated", "Total company")),
            ("Quarterly data", "Results by quarter (unaudited)", (lines["revenue"], lines["cost"], lines["net"])),
        )  # fmt: skip
        for number, (title, text, rows) in enumerate(notes, 2):
            own = self.heading(f"Note {number}. {title}", 2)
            self.page(
                f"note {title}",
                own,
                f"{text}\n{self.years(3)}\n" + "\n".join(self.row(x, 3) for x in rows),
                self.risks(2),
            )
            for _ in range(rng.randint(0, 3)):
                self.page(
                    "more notes",
                    f"{title} (continued)",
                    "\n".join(self.row(x, 3) for x in rng.sample(list(rows), min(3, len(rows)))),
                    self.risks(4),
                )

    def _back(self) -> None:
        self.running = ""
        self.running = f"{self.company}\nSchedule I - Condensed Financial Information of the Parent"
        for part in ("income", "balance", "cash"):
            self.page(
                f"parent {part}",
                f"Condensed {self.statements[part].lower().removeprefix('consolidated ')} of the parent company\n{self.years(2)}",
                "\n".join(
                    self.row(self.lines[one], 2)
                    for one in _DATA["orders"].get(part, ("net", "dividends", "cash"))[::2]
                ),
            )
        self.running = ""
        self.page(
            "controls",
            self.heading("Item 9A. Controls and Procedures", 1),
            "Management concluded that internal control over financial reporting was effective. "
            + self.risks(3),
        )
        self.page(
            "executives",
            self.heading("Item 10. Directors, Executive Officers and Corporate Governance", 1),
            "Name Age Position Year elected to present position\nM. Romano 62 Chairman and Chief Executive Officer 2018\nM. Patolawala 53 Chief Financial Officer 2020",
        )
        names = "\n".join(
            f"{name} for the years ended December 31, {YEAR}" for name in self.statements.values()
        )
        self.page(
            "exhibits",
            self.heading("Item 15. Exhibits, Financial Statement Schedules", 1),
            f"Financial statements\n{names}",
            "\n".join(
                f"(10.{number}) Form of award agreement under the long-term incentive plan, incorporated by reference"
                for number in range(1, 20)
            ),
        )


# --- questions -------------------------------------------------------------------------------------


def _questions(writer: _Writer) -> Iterator[ReportQuestion]:
    rng = writer.random
    kinds = (("amount", _DATA["amounts"]), ("judgement", _DATA["judgements"]))
    for kind, templates in kinds:
        for template in rng.sample(templates, 12):
            text, places = template["text"], template["pages"]
            segment = rng.choice(writer.segments)
            asked = text.format(c=writer.company, y=YEAR, p=YEAR - 1, s=segment)
            named = [rng.choice(_DATA["named"][place]) for place in places if place in _DATA["named"]]
            if kind == "amount" and rng.random() < 0.6:
                of = " and the ".join(named)
                before = rng.random() < 0.5
                asked = (
                    rng.choice(_DATA["before"]).format(of=of) + asked
                    if before
                    else asked + rng.choice(_DATA["after"]).format(of=of)
                )
            pages = frozenset(writer.places[place.format(s=segment)] for place in places)
            yield ReportQuestion(asked, pages, kind)


def reports(count: int = 10, seed: int = 1) -> list[Report]:
    """Returns `count` reports of about 80 pages, with 24 questions each."""
    found = []
    for number in range(count):
        writer = _Writer(number, seed)
        writer.write()
        found.append(
            Report(writer.company, tuple(writer.pages), tuple(writer.outline), tuple(_questions(writer)))
        )
    return found
