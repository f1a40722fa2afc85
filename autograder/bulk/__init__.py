"""Many submissions graded: waiting workers with torch loaded, and one who hands them their jobs."""
