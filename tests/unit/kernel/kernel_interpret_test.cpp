// The interpreter checks
