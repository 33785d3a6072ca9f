// Functions of the C library that a preloaded FaultInjector stands before: see FaultInjector.c.
#pragma once

/// Calls on watched files so far, of all kinds.
unsigned long fault_calls(void);
