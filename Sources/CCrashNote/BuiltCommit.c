// In a file of its own, so that another commit compiles nothing else anew.
#include "BuiltCommit.h"
#include <stddef.h>

const char *built_commit(void) {
#ifdef STAGECOACH_COMMIT
    return STAGECOACH_COMMIT;
#else
    return NULL;
#endif
}
