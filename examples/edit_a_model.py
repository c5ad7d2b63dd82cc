"""What docs/how-to/editing.md shows: python examples/edit_a_model.py

A OnePassGAM of 50,000 simulated purchases (`million_rows.py`) whose age is not to be used, and whose curve of the
amount must rise.
"""

import numpy as np
from million_rows import purchases

from opauc import OnePassGAM

N_ROWS = 50_000


def main() -> None:
    """Train, edit, and print what changes."""
    table, later = (purchases(number).drop_columns(["purchase"]) for number in (0, 6))
    rows, new = table.slice(0, N_ROWS), later.slice(0, N_ROWS)
    labels, outcomes = rows["fraud"].to_numpy(), new["fraud"].to_numpy()
    rows, new = rows.drop_columns(["fraud"]), new.drop_columns(["fraud"])
    model = OnePassGAM(random_state=0).fit(rows, labels)
    print("terms", [term.name for term in model.terms_][:8])
    print(f"AUC {model.score(new, outcomes):.4f}")

    without = model
    for term in model.terms_:
        if "age" in term.inputs:
            without = without.remove(term.name, who="ann", why="age may not be used")
    print(f"without age: AUC {without.score(new, outcomes):.4f}, {len(without.edits_)} terms removed")
    trained = OnePassGAM(random_state=0, drop=["age"]).fit(rows, labels)
    print(f"trained without age: AUC {trained.score(new, outcomes):.4f}")

    amount = next(term for term in without.terms_ if term.name == "amount")
    rising = np.maximum.accumulate(amount.value)
    edited = without.edit("amount", list(zip(amount.at[0], rising, strict=True)), who="ben", why="risk rises with it")
    print(f"amount rises: AUC {edited.score(new, outcomes):.4f}")
    for edit in edited.edits_[-2:]:
        print(f"{edit.action} {edit.term}: {edit.who}, {edit.why}")

    riskiest = int(np.argmax(edited.decision_function(new)))
    for reason in edited.reasons(new.slice(riskiest, 1), k=3, direction="raise")[0]:
        print(f"{reason.name:20} {reason.difference:+.2f}")


if __name__ == "__main__":
    main()
