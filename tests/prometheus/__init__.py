"""The metrics as Prometheus and Grafana have them: rules, dashboard, and a live group."""
