"""The autograder: one probe on many subjects, compared, and named where it is a known mistake."""
