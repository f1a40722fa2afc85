"""All attacks, in the order in which they are run."""

from tests.attack import answering, lying, reaching, seeing, taking

ATTACKS = (*seeing.ATTACKS, *reaching.ATTACKS, *taking.ATTACKS, *answering.ATTACKS, *lying.ATTACKS)
