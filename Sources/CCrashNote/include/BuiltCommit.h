#pragma once

/// Returns the commit that the program was built from; NULL if the build did not say it (STAGECOACH_COMMIT, see Package.swift).
const char *_Nullable built_commit(void);
