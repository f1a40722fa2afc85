"""Around a class that is graded with nbgrader: its course, its gradebook, what students read."""
