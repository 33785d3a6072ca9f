// Calls of malloc, calloc, realloc and their aligned forms so far.
unsigned long allocation_count(void);
