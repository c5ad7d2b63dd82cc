"""A million purchases in a folder of Parquet files, one in twenty of them fraud; simulated.

The odds of fraud depend on the amount and the hour in curves, on the country
and the device as categories, on hour and country together; a twentieth of the
ages is missing. `log_odds` is the score of the best possible model.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_FILES, ROWS_A_FILE = 20, 50_000
COUNTRIES = ("AT", "BE", "CH", "CZ", "DE", "DK", "ES", "FI", "FR", "GB", "IE", "IT", "NL", "NO", "PL", "PT", "SE")
DEVICES = ("phone", "tablet", "desktop", "terminal")


def write_million_rows(folder: Path, held_out: Path) -> int:
    """Write the folder and one more file of the same kind; return the bytes of the folder."""
    folder.mkdir(exist_ok=True)
    for number in range(N_FILES):
        pq.write_table(purchases(number), folder / f"part-{number:02d}.parquet")
    pq.write_table(purchases(N_FILES), held_out)
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


def purchases(seed: int, with_log_odds: bool = False) -> pa.Table:
    """Return the rows of one file; where asked for, with the log-odds that they were drawn by."""
    rng = np.random.default_rng([7, seed])
    n = ROWS_A_FILE
    amount = np.round(rng.lognormal(3.4, 1.1, n), 2)
    hour = np.round(rng.triangular(0.0, 17.0, 24.0, n), 1)
    age = np.floor(rng.gamma(2.0, 16.0, n) + 18.0)
    days = np.floor(rng.exponential(400.0, n))
    country, device = rng.integers(0, len(COUNTRIES), n), rng.choice(len(DEVICES), n, p=[0.5, 0.1, 0.3, 0.1])
    night = np.exp(-((hour - 3.0) ** 2) / 8.0)
    log_odds = (
        -4.9 + 1.5 * np.log1p(amount / 60.0) + 2.0 * night + 2.0 * np.exp(-days / 60.0) - 1.2 * (device == 3)
        + 0.8 * np.sin(1.7 * country) + 2.5 * night * (country % 4 == 0) + 0.7 * np.cos(age / 9.0)
    )  # fmt: skip
    fraud = rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds))
    columns = {
        "purchase": pa.array([f"{seed:02d}-{row:06d}" for row in range(n)]),
        "amount": amount,
        "hour": hour,
        "age": pa.array(age, mask=rng.random(n) < 0.05),
        "days known": days,
        "country": _categories(country, COUNTRIES),
        "device": _categories(device, DEVICES),
        "fraud": pa.array(np.where(fraud, "yes", "no")),
    }
    return pa.table(columns | ({"log_odds": log_odds} if with_log_odds else {}))


def _categories(codes: np.ndarray, names: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), list(names)).dictionary_decode()
