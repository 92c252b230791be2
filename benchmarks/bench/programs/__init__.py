"""Programs that do the work of one system, asked by lines of JSON; `-m benchmarks.bench.programs.…`."""
