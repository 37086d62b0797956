"""Reports: tables, plots and pages, shared by the benchmark, the robustness check and the demo."""
