"""The formats csv and tsv: columns separated by commas, semicolons, tabs, bars or blanks."""

from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import ColumnRequest
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import ByteSource, text_byte_ranges


def _csv_reader(options: ReadOptions, request: ColumnRequest, delimiter: str | None = None) -> Reader:
    from opauc.data.formats.csv.reader import CsvReader

    delimiter = options.delimiter or delimiter
    return CsvReader(request.pinned_columns, delimiter, options.header, options.decimal, options.missing)


def _tsv_reader(options: ReadOptions, request: ColumnRequest) -> Reader:
    return _csv_reader(options, request, "\t")


def _delimiter(path: str, options: ReadOptions) -> int:
    from opauc.data.formats.csv.records import BLANK_RUN, SPACE, delimiter_in

    delimiter = ord(options.delimiter or delimiter_in(path, options.decimal))
    return SPACE if delimiter == ord(BLANK_RUN) else delimiter  # quotes begin after the last blank of a run


def _tab(_path: str, options: ReadOptions) -> int:
    return ord(options.delimiter or "\t")


def _has_csv_header(path: str, options: ReadOptions, columns: TableColumns, delimiter: str | None = None) -> bool:
    from opauc.data.formats.csv.reader import CsvReader

    between = options.delimiter or delimiter
    return CsvReader(columns, between, options.header, options.decimal).has_header(ByteSource(path))


def _has_tsv_header(path: str, options: ReadOptions, columns: TableColumns) -> bool:
    return _has_csv_header(path, options, columns, "\t")


CSV = DataFormat(
    "csv",
    (".csv",),
    _csv_reader,
    is_text=True,
    likeness=lambda _: 1,
    byte_ranges=text_byte_ranges,
    delimiter=_delimiter,
    has_header=_has_csv_header,
)
TSV = DataFormat(
    "tsv",
    (".tsv", ".tab"),
    _tsv_reader,
    is_text=True,
    likeness=lambda line: 2 * (b"\t" in line),
    byte_ranges=text_byte_ranges,
    delimiter=_tab,
    has_header=_has_tsv_header,
)
