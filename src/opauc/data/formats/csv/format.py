"""Tables as text, with commas, semicolons, tabs, bars or blanks between the columns."""

from opauc.data.columns import TableColumns
from opauc.data.encode.encoder import Encoder
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.options import ReadOptions
from opauc.data.sources import ByteSource, text_byte_ranges


def _csv_reader(options: ReadOptions, encoder: Encoder, delimiter: str | None = None) -> Reader:
    from opauc.data.formats.csv.reader import CsvReader

    between = options.delimiter or delimiter
    return CsvReader(encoder.pinned_columns, between, options.header, options.decimal, options.missing)


def _tsv_reader(options: ReadOptions, encoder: Encoder) -> Reader:
    return _csv_reader(options, encoder, "\t")


def _delimiter(path: str, options: ReadOptions) -> int:
    from opauc.data.formats.csv.records import RUN, SPACE, delimiter_in

    found = ord(options.delimiter or delimiter_in(path, options.decimal))
    return SPACE if found == ord(RUN) else found  # quotes begin after the last blank of a run


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
