"""What a page of /metrics says."""


def metric(page, name, label=""):
    """The sum of a metric's series in a page of /metrics, or of those that have the label."""
    return sum(float(line.split()[-1]) for line in page.splitlines()
               if line.startswith((f"{name}{{", f"{name} ")) and label in line)
