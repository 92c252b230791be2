"""What calls cost: prices, the budget of a run, the ledger of all runs, and the plan of the next one."""
