// SQLite's C API, and fixed-arity wrappers of its variadic functions, which Swift cannot call.
#ifndef STAGECOACH_CSQLITE_SHIM_H
#define STAGECOACH_CSQLITE_SHIM_H
#include <sqlite3.h>

static inline int stagecoach_db_config(sqlite3 *db, int option, int value) {
    int now = 0;
    return sqlite3_db_config(db, option, value, &now);
}
static inline int stagecoach_config_int(int option, int value) { return sqlite3_config(option, value); }
#endif
